//! `xtask matrix`.

use serde_json::{Value, json};

use crate::support::{printed, xtask};

#[test]
fn json_holds_every_type_and_tier() {
    let json: Value = serde_json::from_str(&printed(&mut xtask(["matrix", "--json"]))).expect("JSON");
    assert_eq!(json["tiers"][0], "portable");
    let types = json["types"].as_array().expect("types");
    let ty = |name: &str| types.iter().find(|ty| ty["name"] == name).expect("the type");
    assert_eq!(ty("Q4_K")["block"], json!({ "elements": 256, "bytes": 144 }));
    assert_eq!((&ty("Q4_K")["activations"], &ty("Q4_K")["products"]), (&json!("Q8_K"), &json!("in-place")));
    assert_eq!((&ty("MXFP4")["encode"], &ty("MXFP4")["products"]), (&json!(false), &json!("expanded")));
    assert_eq!((&ty("Q4_2")["block"], &ty("Q4_2")["gaps"]), (&Value::Null, &json!(["removed from ggml"])));
}
