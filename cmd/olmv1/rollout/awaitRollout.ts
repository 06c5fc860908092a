import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { Reason } from "../../../pkg/api/constants.ts";
import type { Condition } from "../../../pkg/api/k8s.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { cutTo } from "../cli/columns.ts";
import { type Progress, withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";
import { counted } from "../counted.ts";
import { inventoryHealth } from "../extension/inventoryHealth.ts";
import { tellingCondition } from "../extension/plainWords.ts";
import { readPatiently } from "./readPatiently.ts";
import { type Awaited, isLookedAt, rolloutVerdict } from "./verdict.ts";

/** How a rollout ended, with the extension as it was then; `timeout` and `gone` are ends of waiting only. */
export type Rollout =
  | { readonly kind: "ready"; readonly extension: ClusterExtension; readonly seconds: number }
  | { readonly kind: "approval"; readonly extension: ClusterExtension; readonly seconds: number }
  | {
      readonly kind: "failed" | "timeout";
      readonly extension: ClusterExtension;
      readonly condition: Condition | undefined;
      readonly seconds: number;
    }
  | { readonly kind: "gone"; readonly seconds: number };

const POLL_MS = 500;
/** How long rights may be missing that have just been granted. */
const RIGHTS_PATIENCE_MS = 20_000;

/**
 * Waits until an extension is rolled out, and tells on standard error what comes about meanwhile.
 * @throws the signal's reason after Ctrl-C, having said that the cluster goes on by itself; what the API server could not answer with by then.
 */
export async function awaitRollout(
  terminal: Terminal,
  client: Client,
  name: string,
  awaited: Awaited,
  timeoutMs: number,
): Promise<Rollout> {
  const began = Date.now();
  const seconds = (): number => Math.round((Date.now() - began) / 1_000);
  const teller = new Teller(terminal, awaited.bundle, seconds);
  const waiting = withProgress<Rollout>(terminal, `waiting for ClusterExtension ${name}`, async (progress) => {
    let lackingSince: number | undefined;
    for (;;) {
      const isLate = Date.now() - began > timeoutMs;
      const extension = await readPatiently(terminal, client, name, isLate);
      if (extension === undefined) return { kind: "gone", seconds: seconds() };
      if (extension !== "later") {
        const verdict = rolloutVerdict(extension, awaited);
        const isNow = isLookedAt(extension, awaited);
        // What was so all along is no news.
        if (isNow && (verdict.kind !== "ready" || teller.hasTold || seconds() > 0)) await teller.look(client, extension, progress);
        if (verdict.kind === "ready" || verdict.kind === "approval") return { kind: verdict.kind, extension, seconds: seconds() };
        if (verdict.kind === "failed") return { kind: "failed", extension, condition: verdict.condition, seconds: seconds() };
        lackingSince = verdict.kind === "lacking" ? (lackingSince ?? Date.now()) : undefined;
        if (verdict.kind === "lacking" && Date.now() - (lackingSince ?? 0) > Math.min(RIGHTS_PATIENCE_MS, timeoutMs))
          return { kind: "failed", extension, condition: verdict.condition, seconds: seconds() };
        if (isLate)
          return {
            kind: "timeout",
            extension,
            condition: isNow ? tellingCondition(extension.status?.conditions) : undefined,
            seconds: seconds(),
          };
      }
      await sleep(POLL_MS, undefined, { signal: terminal.signal });
    }
  });
  return waiting.catch((err: unknown) => {
    if (terminal.signal.aborted) terminal.err(`no longer waiting; the cluster goes on by itself: olmv1 describe ${name}\n`);
    throw err;
  });
}

/** Tells each thing once. */
class Teller {
  readonly #terminal: Terminal;
  readonly #bundle: string | undefined;
  readonly #seconds: () => number;
  readonly #told = new Set<string>();

  constructor(terminal: Terminal, bundle: string | undefined, seconds: () => number) {
    this.#terminal = terminal;
    this.#bundle = bundle;
    this.#seconds = seconds;
  }

  get hasTold(): boolean {
    return this.#told.size > 0;
  }

  async look(client: Client, extension: ClusterExtension, progress: Progress): Promise<void> {
    const { metadata, status } = extension;
    const bundle = status?.install?.bundle;
    const isWanted = this.#bundle === undefined || bundle?.name === this.#bundle;
    if (bundle && isWanted) this.#tell(`bundle ${bundle.name} is installed`);
    const condition = tellingCondition(status?.conditions);
    const [line = ""] = (condition?.message ?? "").split("\n");
    if (condition && condition.status !== "True" && condition.reason !== Reason.AwaitingApproval && line !== "")
      this.#tell(`${condition.reason}: ${line}`);
    // Read after the condition, so told after it.
    const objects = await inventoryHealth(client, extension, Date.now()).catch(() => []);
    const ready = objects.filter(({ state }) => state === "healthy");
    if (isWanted) for (const { ref } of ready) this.#tell(`${describeObject(ref)} is ready`);
    const count = objects.length === 0 ? "" : `, ${ready.length} of ${counted(objects.length, "object")} ready`;
    progress.now(`ClusterExtension ${metadata.name}: ${condition ? `${condition.reason}: ${line}` : "not looked at yet"}${count}`);
  }

  #tell(text: string): void {
    if (this.#told.has(text)) return;
    this.#told.add(text);
    const { err, interactive, width } = this.#terminal;
    const line = `  ${escapeControlCharacters(text)} (${this.#seconds()} s)`;
    err(`${interactive ? "\r\u001B[K" : ""}${cutTo(line, width)}\n`);
  }
}
