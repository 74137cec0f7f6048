//! `xtask instructions`: what the tests' own build says of it. The counts are checked by `.ci/run`, on an optimized build.

use std::fs;
use std::path::Path;

use keepq_simd::Tier;
use serde_json::{Map, Value};

use crate::support::{printed, refusal, xtask};

/// The stored counts.
fn stored() -> Map<String, Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("benches").join("instructions.json");
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

/// The name of a case as JSON, as it is in the file of counts.
fn name(case: &Value) -> String {
    let text = |key: &str| case[key].as_str();
    let parts = [text("what"), text("tier")].into_iter().flatten();
    format!("{} m={}", parts.collect::<Vec<_>>().join(" "), case["m"])
}

#[test]
fn every_case_runs_and_those_that_are_stored_are_among_them() {
    let cases: Vec<Value> = serde_json::from_str(&printed(&mut xtask(["instructions-counted"]))).expect("JSON");
    assert!(cases.iter().all(|case| case["elements"].as_u64().is_some_and(|elements| elements > 0)), "{cases:?}");
    let names: Vec<_> = cases.iter().map(name).collect();
    let stored = stored();
    assert!(names.iter().any(|name| stored.contains_key(name)));
    for (name, count) in &stored {
        let is_missing = Tier::missing().iter().any(|tier| name.contains(tier));
        assert!(names.contains(name) || is_missing, "{name}");
        assert!(count.as_u64().is_some_and(|count| count > 0), "{name}");
    }
}

/// Where overflows are checked, counts are others.
#[cfg(debug_assertions)]
#[test]
fn a_build_that_checks_overflows_is_not_counted() {
    let line = refusal(&mut xtask(["instructions"]));
    assert_eq!(line, "this build checks overflows: count the instructions of `cargo xtask instructions`");
}
