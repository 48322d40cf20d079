//! What is measured is what people run: stores without planted bugs, and without the questions
//! whether there are any. Part of every benchmark.

use stagefault_stores::flaws::Flaws;

/// Refuses to measure a build that can plant bugs.
pub fn check() {
    if Flaws::ENABLED {
        panic!(
            "the stores were built with planted bugs, as the tests have them; run the benchmarks \
             alone: cargo bench -p stagefault-benches"
        );
    }
}
