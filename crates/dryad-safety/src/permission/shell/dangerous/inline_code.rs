//! Code given on the command line of an interpreter that deletes or runs programs.

use crate::permission::shell::SimpleCommand;

/// Words of such code.
const TELLING: [&str; 19] = [
    "unlink",
    "rmtree",
    "os.remove",
    "os.rmdir",
    "os.system",
    "os.exec",
    "os.popen",
    "subprocess",
    "shutil.move",
    "fs.rm",
    "rmSync",
    "rmdirSync",
    "child_process",
    "FileUtils",
    "File.delete",
    "system(",
    "exec(",
    "popen(",
    "shell_exec",
];

/// Whether an interpreter is given such code.
pub(super) fn find(command: &SimpleCommand) -> Option<String> {
    let program = command.program()?;
    let takes_code = ["python", "perl", "ruby", "node", "nodejs", "php", "lua", "deno", "bun", "osascript", "Rscript"]
        .iter()
        .any(|name| program.starts_with(name));
    if !takes_code {
        return None;
    }
    let code = command.arguments().windows(2).find_map(|pair| match pair {
        [option, code] if is_code_option(&option.text) => Some(code),
        _ => None,
    })?;
    let backtick = (program.starts_with("perl") || program.starts_with("ruby")) && code.text.contains('`');
    let telling = TELLING.iter().find(|word| code.text.contains(**word)).or(backtick.then_some(&"`"))?;
    Some(format!("{program} runs code that deletes or starts programs ({})", telling.trim_end_matches('(')))
}

fn is_code_option(option: &str) -> bool {
    matches!(option, "--eval" | "--print" | "eval")
        || option.starts_with('-') && !option.starts_with("--") && option.ends_with(['c', 'e', 'E', 'r', 'p'])
}
