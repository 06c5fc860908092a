import { type LuaEngine, LuaFactory, LuaLibraries } from "wasmoon";
import type { KubeObject } from "../../pkg/api/k8s.ts";

/** The health that Argo CD computes for an object. */
export interface ArgoHealth {
  readonly status: "Healthy" | "Progressing" | "Suspended" | "Degraded" | "Missing" | "Unknown";
  readonly message: string;
}

/** An action that Argo CD offers for an object. */
export interface ArgoAction {
  readonly name: string;
  readonly disabled: boolean;
}

const STATUSES: readonly string[] = [
  "Healthy",
  "Progressing",
  "Suspended",
  "Degraded",
  "Missing",
  "Unknown",
] satisfies ArgoHealth["status"][];

/** Functions that Lua 5.4 has, but not Lua 5.1, which Argo CD runs. */
const NEWER = ["rawlen", "warn"];
const NEWER_IN_TABLE = ["move", "pack", "unpack"];

/**
 * Replaces the libraries: `require` only knows the module `os`, with `date` and `time`; `os` is not global.
 * @see https://github.com/argoproj/argo-cd/blob/00101b74/util/lua/lua.go runLua
 * @see https://github.com/argoproj/argo-cd/blob/00101b74/util/lua/oslib_safe.go
 */
const RESTRICT = `
local safe = { date = os.date, time = os.time }
os = nil
require = function(name)
  if name == "os" then return safe end
  error("module " .. name .. " not found")
end
for _, name in ipairs({ ${NEWER.map((name) => `"${name}"`).join(", ")} }) do _G[name] = nil end
for _, name in ipairs({ ${NEWER_IN_TABLE.map((name) => `"${name}"`).join(", ")} }) do table[name] = nil end
`;

/** Constructs of Lua after 5.1: labels, integer division and bitwise operators. */
const NEWER_SYNTAX = /\bgoto\b|::|\/\/|<<|>>|[&|]|~(?!=)/;

/**
 * Runs Lua scripts as Argo CD runs those in argocd-cm: with the libraries base and table and a reduced os, the object as global `obj`, and
 * in a new state each time.
 */
export class ArgoSandbox {
  readonly #factory = new LuaFactory();

  /** Runs a health script. @throws Error if the script fails, or returns anything but a valid health. */
  async computeHealth(object: KubeObject, script: string): Promise<ArgoHealth> {
    const result = await this.#run(object, script);
    const { status, message, ...others } = toRecord(result);
    if (typeof status !== "string" || !STATUSES.includes(status) || typeof message !== "string" || Object.keys(others).length > 0)
      throw new Error(`not a health: ${JSON.stringify(result)}`);
    return { status: status as ArgoHealth["status"], message };
  }

  /** Runs a discovery script. @returns the actions, sorted by name. */
  async listActions(object: KubeObject, script: string): Promise<ArgoAction[]> {
    const actions = Object.entries(toRecord(await this.#run(object, script)));
    return actions
      .map(([name, action]) => ({ name, disabled: toRecord(action)["disabled"] === true }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Runs the script of an action. @returns the changed object, whose changes Argo CD sends as a patch. */
  async runAction(object: KubeObject, script: string): Promise<KubeObject> {
    return restoreEmpty(toRecord(await this.#run(object, script)), object) as KubeObject;
  }

  async #run(object: KubeObject, script: string): Promise<unknown> {
    const code = script.replace(/--.*$/gm, "").replace(/"[^"]*"/g, '""');
    const newer = NEWER_SYNTAX.exec(code);
    if (newer) throw new Error(`Lua 5.1 has no ${newer[0]}`);
    const engine = await this.#factory.createEngine({ openStandardLibs: false, injectObjects: false, enableProxy: false });
    try {
      restrictLibraries(engine);
      engine.global.set("obj", structuredClone(object));
      return await engine.doString(script);
    } finally {
      engine.global.close();
    }
  }
}

function restrictLibraries(engine: LuaEngine): void {
  for (const library of [LuaLibraries.Base, LuaLibraries.Table, LuaLibraries.OS]) engine.global.loadLibrary(library);
  engine.doStringSync(RESTRICT);
}

function toRecord(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`not a table with keys: ${JSON.stringify(value)}`);
  return value as Record<string, unknown>;
}

/**
 * Lua has one empty table for lists and maps. As in Argo CD, an empty table is what it was before.
 * @see https://github.com/argoproj/argo-cd/blob/00101b74/util/lua/lua.go cleanReturnedObj
 */
function restoreEmpty(after: unknown, before: unknown): unknown {
  if (typeof after !== "object" || after === null || typeof before !== "object" || before === null) return after;
  if (Object.keys(after).length === 0 && Object.keys(before).length === 0) return before;
  if (Array.isArray(after)) return after.map((one, at) => restoreEmpty(one, (before as unknown[])[at]));
  return Object.fromEntries(
    Object.entries(after).map(([key, value]) => [key, restoreEmpty(value, (before as Record<string, unknown>)[key])]),
  );
}
