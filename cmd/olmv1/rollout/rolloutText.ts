import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { Condition } from "../../../pkg/api/k8s.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { EXIT } from "../cli/exitCodes.ts";
import type { Terminal } from "../cli/terminal.ts";
import { wrapped } from "../cli/wrapped.ts";
import { plainWords } from "../extension/plainWords.ts";
import { approvalText } from "./approvalText.ts";
import type { Rollout } from "./awaitRollout.ts";

/** Tells on standard error how a rollout ended, in plain words with the next steps, and lets the program end with 1 where it did not come right. */
export function tellRollout(terminal: Terminal, name: string, rollout: Rollout): void {
  terminal.err(rolloutText(terminal, name, rollout));
  if (rollout.kind !== "ready" && rollout.kind !== "approval") terminal.exit(EXIT.no);
}

/** How a rollout ended, in plain words with the next steps. */
export function rolloutText(terminal: Pick<Terminal, "width">, name: string, rollout: Rollout): string {
  const { seconds } = rollout;
  if (rollout.kind === "gone") return `ClusterExtension ${name} was deleted meanwhile\n`;
  const { extension } = rollout;
  const bundle = extension.status?.install?.bundle;
  if (rollout.kind === "ready") return `${name}: ${bundle?.name} (version ${bundle?.version}) is installed and ready after ${seconds} s\n`;
  if (rollout.kind === "approval") return approvalText(terminal, extension);
  const head = rollout.kind === "timeout" ? `${name} is not ready after ${seconds} s` : `${name} did not come right`;
  return `${head}${rollout.condition ? "" : ": operator-controller has not looked at it; does it run?"}\n${conditionText(terminal, extension, rollout.condition)}`;
}

function conditionText(terminal: Pick<Terminal, "width">, extension: ClusterExtension, condition: Condition | undefined): string {
  const { name } = extension.metadata;
  const last = `  olmv1 describe ${name}`;
  if (!condition) return `${last}\n`;
  const { means, next } = plainWords(extension, condition);
  return [
    ...wrapped(escapeControlCharacters(`${condition.type} is ${condition.status}, ${condition.reason}: ${condition.message}`), terminal.width, "  "),
    ...(means === "" ? [] : wrapped(means, terminal.width)),
    ...next.map((line) => `  ${line}`),
    last,
    "",
  ].join("\n");
}
