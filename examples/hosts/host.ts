// A host in TypeScript: brings a tool along, streams a prompt, reviews what waits, takes an operation back.
//
//   node --experimental-strip-types host.ts dryad --script story.json "Write the greeting"    (Node 22.6 or newer)
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

type Frame = { type: string; id?: string; [field: string]: any };

const tool = { name: "whoami", description: "Tells who is at the keyboard", parameters: { type: "object" } };
const [program, ...rest] = process.argv.slice(2);
const prompt = rest.pop()!;
const dryad = spawn(program!, [...rest, "--mode", "rpc"], { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map<string, (frame: Frame) => void>();
const watchers: { type: string; resolve: (frame: Frame) => void }[] = [];
let requests = 0;

function send(frame: Frame): void {
  dryad.stdin.write(JSON.stringify(frame) + "\n");
}

// Sends a command and waits for its answer.
async function ask(type: string, fields: object = {}): Promise<any> {
  const id = `req_${++requests}`;
  const answer = new Promise<Frame>((resolve) => waiting.set(id, resolve));
  send({ id, type, ...fields });
  const { success, data, error } = await answer;
  if (!success) throw new Error(`${type}: ${error}`);
  return data;
}

// Waits for the next event of a type.
function next(type: string): Promise<Frame> {
  return new Promise((resolve) => watchers.push({ type, resolve }));
}

function onEvent(frame: Frame): void {
  if (frame.type === "message_update" && frame.assistantMessageEvent.type === "text_delta") {
    process.stdout.write(frame.assistantMessageEvent.delta);
  } else if (frame.type === "message_update" && frame.assistantMessageEvent.type === "text_end") {
    console.log();
  } else if (frame.type === "host_tool_call") {
    send({ type: "host_tool_result", id: frame.id!, result: { content: [{ type: "text", text: "Ada" }] } });
  } else if (frame.type === "extension_ui_request" && frame.method === "confirm") {
    console.log(`asked: ${frame.title}`); // left open: the action is reviewed below
  }
}

createInterface({ input: dryad.stdout }).on("line", (line) => {
  const frame: Frame = JSON.parse(line);
  const answered = frame.type === "response" && frame.id !== undefined ? waiting.get(frame.id) : undefined;
  if (answered) return waiting.delete(frame.id!), answered(frame);
  onEvent(frame);
  const at = watchers.findIndex((watcher) => watcher.type === frame.type);
  if (at >= 0) watchers.splice(at, 1)[0]!.resolve(frame);
});

await next("ready");
await ask("set_host_tools", { tools: [tool] });
await ask("set_update_mode", { mode: "lean" });
const ended = next("prompt_result");
await ask("prompt", { message: prompt });
await ended;
for (const action of (await ask("get_pending_actions")).actions) {
  process.stdout.write(`pending: ${action.label}\n${action.preview.text}`);
  await ask("resolve", { actionId: action.id, action: "apply", reason: "reviewed" });
}
for (const operation of (await ask("get_operations", { limit: 1 })).operations) {
  console.log(`done: ${operation.label}`);
  const [undone] = (await ask("undo", { operationIds: [operation.id] })).operations;
  console.log(`undone: ${undone.label}, complete: ${undone.complete}`);
}
dryad.on("exit", (code) => process.exit(code ?? 1));
dryad.stdin.end();
