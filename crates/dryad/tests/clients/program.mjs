// Stands where a client expects a script of its own program: starts dryad with the same arguments,
// streams and signals. Clients run it with node.
import { spawn } from "node:child_process";

const program = spawn(process.env.DRYAD, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => program.kill(signal));
program.on("exit", (code, signal) => process.exit(signal ? 1 : code));
