//! The functions in a file of assembly.

/// A function: its instructions and labels in order, without directives and comments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) lines: Vec<Line<'a>>,
}

/// A line of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Label(&'a str),
    Instruction(&'a str),
}

/// All functions, in the order in which they stand.
pub(super) fn of(assembly: &str) -> Vec<Function<'_>> {
    let mut functions: Vec<Function<'_>> = Vec::new();
    for line in assembly.lines() {
        // Labels begin their lines, what belongs to them is indented.
        let label = line.split_once(':').map(|(label, _)| label).filter(|label| is_name(label));
        match label {
            Some(name) if !name.starts_with(".L") => functions.push(Function { name, lines: Vec::new() }),
            _ => {
                let Some(function) = functions.last_mut() else { continue };
                let line = line.trim();
                if let Some(label) = label {
                    function.lines.push(Line::Label(label));
                } else if line.starts_with(|c: char| c.is_ascii_lowercase() || c == '{') {
                    function.lines.push(Line::Instruction(line));
                }
            }
        }
    }
    functions
}

/// Whether the text before a colon is a name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_labels_and_instructions() {
        let text = "\t.text\n\t.type\t_Rone,@function\n_Rone:\n.Lfunc_begin0:\n\t.cfi_startproc\n\tpushq\t%rbp\n.LBB0_1:\n\t#APP\n\t#NO_APP\n\
                    \t{vex}\tvpdpbusd\t%ymm0, %ymm1, %ymm2\n\tjb\t.LBB0_1\n\t.size\t_Rone, .Lfunc_end0-_Rone\n_Rtwo:\n\t//APP\n\tret\n";
        let functions = of(text);
        assert_eq!(functions.iter().map(|function| function.name).collect::<Vec<_>>(), ["_Rone", "_Rtwo"]);
        assert_eq!(
            functions[0].lines,
            [
                Line::Label(".Lfunc_begin0"),
                Line::Instruction("pushq\t%rbp"),
                Line::Label(".LBB0_1"),
                Line::Instruction("{vex}\tvpdpbusd\t%ymm0, %ymm1, %ymm2"),
                Line::Instruction("jb\t.LBB0_1"),
            ]
        );
        assert_eq!(functions[1].lines, [Line::Instruction("ret")]);
    }
}
