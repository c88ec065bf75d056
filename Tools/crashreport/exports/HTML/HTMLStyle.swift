/// The looks of the page.
enum HTMLStyle {
    /// Colours, light and dark: text on its ground has a contrast of 4.5 and more (WCAG 2.2, AA).
    static let colors: StaticString = """
        :root{color-scheme:light dark;
        --ground:#f4f6f8;--card:#fff;--sunk:#f4f6f8;--line:#dce2e8;--text:#15202b;--quiet:#536170;
        --accent:#0a6b70;--accent-ground:#e3f2f2;--grid:#e4e9ee;--life:#a9b6c2;
        --resume:#0b6b45;--resume-ground:#dff3e8;--resume-fill:#2fa36f;
        --restart:#8a4b00;--restart-ground:#fdeed6;--restart-fill:#e09a2f;
        --terminate:#ae1f26;--terminate-ground:#fde4e4;--terminate-fill:#d8484e;
        --wait:#1d5c94;--wait-ground:#e2eefb;--wait-fill:#4b8fd2;
        --other:#4a4f9c;--other-ground:#e8e9fb;--other-fill:#7b80d6;
        --shadow:0 1px 2px rgb(20 32 43/.06),0 4px 16px rgb(20 32 43/.05)}
        @media (prefers-color-scheme:dark){:root{
        --ground:#0d1318;--card:#151d24;--sunk:#0f161c;--line:#2a3641;--text:#e6edf3;--quiet:#9dabb8;
        --accent:#5cc8c6;--accent-ground:#12302f;--grid:#222d37;--life:#526371;
        --resume:#6fd8a7;--resume-ground:#10301f;--resume-fill:#35a877;
        --restart:#f2b661;--restart-ground:#35250c;--restart-fill:#d9942e;
        --terminate:#ff9a95;--terminate-ground:#3d1719;--terminate-fill:#e05a5f;
        --wait:#8ec3f7;--wait-ground:#10293f;--wait-fill:#4a8fd8;
        --other:#b3b7ff;--other-ground:#22244a;--other-fill:#8288e6;
        --shadow:none}}
        """

    /// The page as a whole: head, figures, timeline, groups.
    static let layout: StaticString = """
        *{box-sizing:border-box}
        html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
        body{margin:0 auto;max-width:1120px;padding:28px 20px 40px;background:var(--ground);color:var(--text);
        font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
        code,pre,.index{font-size:.88em;
        font-family:ui-monospace,"SF Mono","Cascadia Code","JetBrains Mono","DejaVu Sans Mono",Menlo,Consolas,monospace}
        h1,h2,h3,h4,h5,h6,p,ul,ol,dl,dd,pre,fieldset{margin:0;padding:0;border:0}
        h1{font-size:26px;line-height:1.2;letter-spacing:-.015em}h2{font-size:18px;margin:30px 0 12px}
        h3{font-size:17px;line-height:1.35}h4{font-size:15px;font-weight:600}
        h5{font-size:13px;font-weight:600;margin:22px 0 8px;color:var(--quiet)}h6{font-size:13px;margin:14px 0 6px}
        a{color:var(--accent)}
        :focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
        .skip{position:absolute;left:-999px}.skip:focus{left:20px;top:8px;background:var(--card);padding:6px 12px;z-index:1}
        .hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
        [hidden]{display:none!important}
        .top{display:flex;align-items:center;gap:14px}
        .mark{flex:none}.mark-ground{fill:var(--accent)}
        .mark-kelp{fill:none;stroke:#fff;stroke-width:2.4;stroke-linecap:round}.mark-rock{fill:#fff}
        @media (prefers-color-scheme:dark){.mark-kelp{stroke:#0d1318}.mark-rock{fill:#0d1318}}
        .subject{color:var(--quiet);overflow-wrap:anywhere}
        .figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(120px,1fr));gap:12px;margin-top:22px}
        .figure{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:12px 16px;
        box-shadow:var(--shadow)}
        .figure{min-width:0;overflow-wrap:anywhere}.figure b{display:block;font-size:26px;line-height:1.2;font-variant-numeric:tabular-nums;letter-spacing:-.02em}
        .figure span{color:var(--quiet);font-size:13px}
        .figure.resume b{color:var(--resume)}.figure.restart b{color:var(--restart)}
        .figure.terminate b{color:var(--terminate)}.figure.wait b{color:var(--wait)}.figure.other b{color:var(--other)}
        .card{background:var(--card);border:1px solid var(--line);border-radius:14px;box-shadow:var(--shadow)}
        .timeline{margin-top:18px;padding:16px 20px 10px}.timeline h2{margin:0 0 2px}
        .legend{display:flex;flex-wrap:wrap;gap:4px 18px;list-style:none;color:var(--quiet);font-size:13px;margin-bottom:8px}
        .legend li{display:flex;align-items:center;gap:6px}
        .scroll{overflow-x:auto}
        .latest{direction:rtl;display:grid}.latest>*{direction:ltr;grid-area:1/1}
        .chart.names{position:sticky;left:0;width:17%;min-width:122.4px;z-index:1;justify-self:end}
        .names .ground{fill:var(--card)}.life.since{stroke-width:1.5;stroke-dasharray:2 5}
        .chart{display:block;width:100%;min-width:720px;height:auto}
        .chart text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;fill:var(--text)}
        .chart .tick,.chart .pid{fill:var(--quiet);font-variant-numeric:tabular-nums}
        .grid{stroke:var(--grid)}.base{stroke:var(--life)}.life{stroke:var(--life);stroke-width:3;stroke-linecap:round}
        rect.resume,circle.resume{fill:var(--resume-fill)}rect.restart,path.restart{fill:var(--restart-fill)}
        rect.terminate{fill:var(--terminate-fill)}.shape.wait,rect.wait{fill:var(--wait-fill)}rect.other{fill:var(--other-fill)}
        .shape{stroke:var(--card);stroke-width:1.5}
        .point[href]{cursor:pointer}.point[href]:hover .shape,.point:focus .shape{stroke:var(--text)}
        .tools{display:flex;flex-wrap:wrap;align-items:center;gap:10px 16px;margin-top:22px}
        .search{flex:1 1 260px}
        .search input{width:100%;font:inherit;color:inherit;background:var(--card);border:1px solid var(--life);
        border-radius:10px;padding:8px 14px}
        .search input::placeholder{color:var(--quiet);opacity:1}
        .tools fieldset{display:flex;flex-wrap:wrap;gap:6px 14px}.toggle{cursor:pointer;font-size:14px}
        .toggle input{accent-color:var(--accent);vertical-align:-2px}
        .tools button{font:inherit;font-size:14px;color:var(--text);background:var(--card);border:1px solid var(--life);
        border-radius:10px;padding:7px 14px;cursor:pointer}
        #found{color:var(--quiet);font-size:14px}#found:empty{display:none}
        .quiet,.note,footer{color:var(--quiet);font-size:13px}.note{margin:8px 0}
        .empty{margin-top:24px}
        footer{margin-top:36px;overflow-wrap:anywhere}
        """

    /// Groups and reports.
    static let report: StaticString = """
        summary{cursor:pointer}summary h4,summary h5{display:inline}
        .group{margin-bottom:12px}
        .group>details>summary{list-style:none;padding:16px 20px 16px 38px;border-radius:14px;position:relative}
        .group>details>summary::before{content:"";position:absolute;left:18px;top:24px;width:7px;height:7px;
        border:solid var(--quiet);border-width:0 2px 2px 0;transform:rotate(-45deg)}
        .group>details[open]>summary::before{transform:rotate(45deg)}
        .group>details>summary::-webkit-details-marker{display:none}
        .group>details>summary:hover h3{color:var(--accent)}
        .head{display:flex;gap:20px;justify-content:space-between}
        .what{min-width:0;overflow-wrap:break-word}.what>p{margin-top:4px}.where{color:var(--quiet)}
        .often{flex:none;text-align:right}
        .count b{font-size:20px;font-variant-numeric:tabular-nums}.count span{color:var(--quiet);font-size:13px}
        .spark{display:block;margin:2px 0 2px auto}.spark rect{fill:var(--accent)}
        .chips{display:flex;flex-wrap:wrap;gap:6px 10px;align-items:center}
        .chip{display:inline-block;border-radius:99px;padding:1px 10px;font-size:12.5px;font-weight:600;white-space:nowrap}
        .chip.resume{color:var(--resume);background:var(--resume-ground)}
        .chip.restart{color:var(--restart);background:var(--restart-ground)}
        .chip.terminate{color:var(--terminate);background:var(--terminate-ground)}
        .chip.wait{color:var(--wait);background:var(--wait-ground)}
        .chip.new{color:var(--accent);background:var(--accent-ground)}
        .chip.other{color:var(--other);background:var(--other-ground);white-space:normal;overflow-wrap:anywhere}
        .body{padding:0 20px 20px;overflow-wrap:anywhere}
        .report{border:1px solid var(--line);border-radius:12px;margin-top:12px;scroll-margin-top:12px}
        .report>summary{padding:10px 16px}.report>summary>.chip{margin:0 6px}
        .report[open]>summary{border-bottom:1px solid var(--line)}
        .report:target{border-color:var(--accent)}
        .inner{padding:16px}.inner>h5:first-of-type{margin-top:18px}
        .diagnosis{background:var(--accent-ground);border-radius:10px;padding:12px 16px}
        .diagnosis .summary{font-weight:600}.diagnosis ul{margin:6px 0 0 18px}
        .said{margin-top:10px;white-space:pre-wrap;overflow-wrap:anywhere}
        .stack,.stack ol{list-style:none}
        .stack{border:1px solid var(--line);border-radius:10px;overflow:hidden}
        .stack li+li{border-top:1px solid var(--line)}
        .frame{display:flex;flex-wrap:wrap;gap:0 12px;padding:5px 12px;color:var(--quiet);align-items:baseline}
        .index{flex:none;width:2.4em;text-align:right;color:var(--quiet)}
        .call{flex:1 1 320px;min-width:0;overflow-wrap:break-word}
        .place{flex:none;max-width:100%;font-size:13px;text-align:right}.place b{font-weight:500}
        .place span{color:var(--quiet);margin-left:10px}
        .yours{color:var(--text);background:var(--card);box-shadow:inset 3px 0 var(--accent)}
        .yours .call code{font-weight:700}.yours .place b{color:var(--accent);font-weight:600}
        .yours.first{background:var(--accent-ground)}
        .stack .library,.stack .gap{background:var(--sunk)}
        .library summary,.gap{padding:5px 12px;color:var(--quiet);font-size:13px}
        .tag{border:1px solid var(--line);border-radius:5px;padding:0 5px;font-size:11.5px;margin-left:8px;color:var(--quiet)}
        .facts{display:grid;gap:4px}.facts>div{display:grid;grid-template-columns:minmax(90px,150px) 1fr;gap:14px}
        .facts dt,.registers dt{color:var(--quiet)}.facts dd{min-width:0;overflow-wrap:anywhere}
        .registers{display:grid;grid-template-columns:repeat(auto-fill,minmax(210px,1fr));gap:2px 16px;margin-top:10px}
        .registers>div{display:flex;gap:10px}.registers dt{width:4.2em;text-align:right}
        .fold{margin-top:20px}.fold>summary h5{color:var(--text)}.fold>:not(summary){margin-top:8px}
        .bytes{white-space:pre-wrap;overflow-wrap:anywhere}
        .crumbs{list-style:none;border-left:2px solid var(--line);margin-left:5px}
        .crumbs li{display:flex;gap:12px;padding:2px 0 2px 14px;align-items:baseline;position:relative}
        .crumbs li::before{content:"";position:absolute;left:-5px;top:.7em;width:8px;height:8px;border-radius:50%;
        background:var(--life);box-shadow:0 0 0 2px var(--card)}
        .crumbs .loud::before{background:var(--restart-fill)}.crumbs .now::before{background:var(--terminate-fill)}
        .ago{flex:none;width:7em;text-align:right;color:var(--quiet);font-variant-numeric:tabular-nums;font-size:13px}
        .kind{flex:none;width:6.5em;color:var(--quiet);font-size:13px;overflow-wrap:anywhere}
        .words{min-width:0;overflow-wrap:anywhere}.loud .kind,.loud .words{color:var(--restart)}
        .now .words{font-weight:600}
        .tags{display:flex;flex-wrap:wrap;gap:6px;list-style:none;margin-bottom:10px}
        .tags li{background:var(--sunk);border:1px solid var(--line);border-radius:8px;padding:1px 9px;font-size:13px}
        .tags span{color:var(--quiet)}
        .images{list-style:none;font-size:13px}.notes{margin-left:18px}
        table{border-collapse:collapse;width:100%;font-size:13.5px}
        th,td{text-align:left;padding:5px 12px 5px 0;border-bottom:1px solid var(--line);vertical-align:baseline}
        th{color:var(--quiet);font-weight:500}
        @media (max-width:640px){body{padding:18px 12px}.call{flex-basis:calc(100% - 4em)}.head{flex-direction:column;gap:8px}.often{text-align:left}
        .spark{margin-left:0}.crumbs li{flex-wrap:wrap;gap:0 10px}.ago{width:auto}
        .facts>div{grid-template-columns:1fr;gap:0}.place{flex:1 1 100%;text-align:left;padding-left:3.2em}}
        @media print{body{max-width:none;padding:0;background:#fff;font-size:11px}.tools,.skip{display:none!important}
        .card,.figure{box-shadow:none;break-inside:auto}.frame,.crumbs li,.head{break-inside:avoid}
        details::details-content{content-visibility:visible;display:block}}
        @media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
        """

    /// Stalls.
    static let stall: StaticString = """
        .flame text{font:12px ui-monospace,"SF Mono","Cascadia Code","JetBrains Mono","DejaVu Sans Mono",Menlo,Consolas,monospace}
        .flame rect{fill:var(--sunk);stroke:var(--life);stroke-width:.6}
        .flame .yours rect{fill:var(--accent-ground);stroke:var(--accent)}.flame g:hover rect{stroke:var(--text);stroke-width:2}
        .tree{font-size:12.5px;line-height:1.45}
        .lengths{margin:18px 0 4px}.steps{width:auto}.steps td+td{min-width:260px;font-variant-numeric:tabular-nums}
        .bar{display:inline-block;margin-right:10px;vertical-align:-1px}.bar rect{fill:var(--wait-fill)}
        @media (max-width:640px){.steps td+td{min-width:0}.bar{width:90px}}
        """
}
