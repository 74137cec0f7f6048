use keepq_blocks::GgmlType;
use serde_json::Value;

use super::super::example;
use super::*;

fn report(rows: Vec<Row>) -> Report {
    let limits = BeforeAndAfter { threads: 1, before: example::LIMITS, after: example::LIMITS };
    let machine =
        Machine { cpu: "Some CPU".to_owned(), cores: 2, load_average: [Some(0.5), None], goldens_md5: [None, None] };
    let programs = vec![Program {
        name: "llama.cpp 0.5.0".to_owned(),
        version: "0.5.0".to_owned(),
        path: "libraries".to_owned(),
        about: "libggml-cpu-haswell.so; CPU : AVX2 = 1 |".to_owned(),
    }];
    Report { tier: "x86-64-v3".into(), interleaved: false, row_major: false, machine, programs, limits, rows }
}

#[test]
fn means_are_over_the_shapes_of_a_type_and_m() {
    let means = report(example::rows()).means();
    let names: Vec<_> = means.iter().map(|mean| (mean.ty, mean.m, mean.shapes)).collect();
    let [q4_k, f16] = [GgmlType::Q4_K, GgmlType::F16].map(Type::Blocks);
    assert_eq!(names, [(q4_k, 1, 2), (q4_k, 128, 1), (f16, 1, 1)]);
    // Ratios of 1.6 and 4.
    assert!((means[0].ratio.expect("peers") - 6.4_f64.sqrt()).abs() < 1e-9);
    assert_eq!((means[1].ratio, means[1].peer_gops), (None, None));
    // 67.1 and 83.9 GOP/s.
    assert!((means[0].best_gops - (67.108_864 * 83.886_08_f64).sqrt()).abs() < 1e-9);
}

#[test]
fn the_table_has_a_row_a_case_and_tells_what_to_doubt() {
    insta::assert_snapshot!(report(example::rows()));
}

#[test]
fn each_line_of_json_has_its_keys_in_order() {
    let text = report(example::rows()).json().expect("JSON");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines.len(), &lines[0]["op"], &lines[0]["before"]["read"]), (5, &"limits".into(), &20.0.into()));
    insta::assert_snapshot!(text);
}
