// Frames of C++.

#include "frame_probe.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#define KEEP __attribute__((noinline, disable_tail_calls))

namespace frames {

volatile int depth;

struct Call {
    HFFrameBody body;
    void *context;

    KEEP void operator()() const {
        body(context);
        depth = depth + 1;
    }
};

class Base {
public:
    virtual ~Base() = default;
    virtual void visit(const Call &call, const std::string &name) = 0;
};

class Derived final : public Base {
public:
    KEEP void visit(const Call &call, const std::string &name) override {
        auto lambda = [&](int times) KEEP {
            if (times > 0) {
                call();
            }
            depth = depth + static_cast<int>(name.size());
        };
        lambda(1);
        depth = depth + 1;
    }
};

template <typename Value, int count>
struct Holder {
    Value value;

    static inline __attribute__((always_inline)) void inlined(Base &base, const Call &call, const Value &value) {
        base.visit(call, std::to_string(value));
        depth = depth + count;
    }

    template <typename Function>
    KEEP void apply(Function &&function, Base &base, const Call &call) {
        function(base, call, value);
        depth = depth + 1;
    }
};

namespace {

KEEP void anonymous(const std::function<void(Base &)> &function, Base &base) {
    function(base);
    depth = depth + 1;
}

} // namespace

} // namespace frames

extern "C" KEEP void hf_frame_through_cxx(HFFrameBody body, void *context) {
    using Kept = frames::Holder<long, 3>;
    frames::Derived derived;
    frames::Call call{body, context};
    Kept holder{7};
    frames::anonymous(
        [&](frames::Base &base) {
            holder.apply(
                [](frames::Base &base, const frames::Call &call, const long &value) {
                    Kept::inlined(base, call, value);
                    frames::depth = frames::depth + 1;
                },
                base, call);
            frames::depth = frames::depth + 1;
        },
        derived);
    frames::depth = frames::depth + 1;
}

extern "C" KEEP void hf_frame_through_cxx_sort(HFFrameBody body, void *context) {
    std::vector<int> values{3, 1, 2};
    std::sort(values.begin(), values.end(), [&](int left, int right) {
        body(context);
        return left < right;
    });
    frames::depth = values.front();
}
