//! `xtask mutate`, but for trying mutants, which builds the workspace again and again.

use serde_json::Value;

use crate::support::{printed, refusal, xtask};

#[test]
fn mutants_are_listed_with_what_they_break() {
    let selected = ["mutate", "--list", "--only", "^blocks/q6_k/bias$"];
    assert_eq!(printed(&mut xtask(selected)), "blocks/q6_k/bias  codes have a bias of 31\n");
    let json: Value = serde_json::from_str(&printed(xtask(selected).arg("--json"))).expect("JSON");
    assert_eq!(json["place"], "crates/blocks/src/q6_k.rs");
    assert!(json["tests"][0].as_str().expect("a command").starts_with("-p keepq-blocks"), "{json}");
}

#[test]
fn parts_are_all_mutants() {
    let list = |shard: &[&str]| printed(xtask(["mutate", "--list", "--json"]).args(shard));
    let parts: String = ["0/3", "1/3", "2/3"].iter().map(|shard| list(&["--shard", shard])).collect();
    assert_eq!(parts, list(&[]));
}

#[test]
fn a_selection_that_cannot_be_made_is_one_line() {
    for (arguments, wanted) in [
        (["--only", "no such mutant"], "no mutant is selected"),
        (["--only", "("], "'(' for '--only <REGEX>'"),
        (["--shard", "4/4"], "'4/4' for '--shard <I/N>': not a part like 0/4, the last being 3/4"),
    ] {
        let line = refusal(xtask(["mutate", "--list"]).args(arguments));
        assert!(line.contains(wanted), "{arguments:?}: {line}");
    }
}

#[test]
fn every_mutant_applies() {
    let text = printed(&mut xtask(["mutate", "--check"]));
    assert!(text.ends_with(" mutants apply\n"), "{text}");
}
