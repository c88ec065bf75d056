# SPDX-License-Identifier: Apache-2.0
# Draws what `Tools/benchmark growth` has measured: gnuplot -c growth.gnuplot FOLDER PICTURE
folder = ARG1
set terminal svg size 1200,1500 dynamic font "Helvetica,13" background "white"
set output ARG2
set logscale xy
set format x "10^{%T}"
set xrange [10:1000000]
set grid xtics ytics lc rgb "#dddddd"
set datafile missing "?"
set key top left reverse Left samplen 2
set ylabel "ns"
array loops[5] = ["HostRunLoop", "CFRunLoop", "libuv", "GLib", "epoll alone"]
array colours[5] = ["#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#7f7f7f"]
array names[7] = ["add", "cancel", "fire", "descriptors", "sources", "modes", "waiting"]
array titles[7] = ["add one of N timers", "cancel one of N timers", "fire one of N timers", "event beside N idle descriptors", \
    "signal beside N idle sources", "signal and run in one of N modes", "one of N blocks that wait"]
set multiplot layout 4,2
do for [i = 1:7] {
    set title titles[i]
    file = sprintf("%s/%s.data", folder, names[i])
    plot for [k = 1:5] file using 1:(column(k + 1)) with linespoints pt 7 ps 0.6 lw (k == 1 ? 3 : 1.5) lc rgb colours[k] title loops[k]
    unset key
}
unset multiplot
