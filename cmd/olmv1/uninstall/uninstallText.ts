import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { Reason } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import type { CrdPolicy } from "../../../pkg/release/plan.ts";
import type { Terminal } from "../cli/terminal.ts";
import { wrapped } from "../cli/wrapped.ts";
import { counted } from "../counted.ts";
import { plainWords } from "../extension/plainWords.ts";
import { type CustomResources, fateOf } from "./customResources.ts";

/** What an uninstall is going to do. */
export interface UninstallSummary {
  /** Undefined where only what `olmv1 install` made is left. */
  readonly extension: ClusterExtension | undefined;
  readonly crdPolicy: CrdPolicy;
  readonly customResources: readonly CustomResources[];
  /** Definitions that will stop the uninstall in operator-controller, a sentence each. */
  readonly blocked: readonly string[];
  /** What goes after the extension. */
  readonly made: readonly KubeObject[];
  /** Sentences about what stays, and why. */
  readonly staying: readonly string[];
}

const NAMES_SHOWN = 5;

/** What an uninstall is going to do, for somebody who has to agree to it: what is lost comes first. */
export function uninstallText(screen: Pick<Terminal, "width">, summary: UninstallSummary): string {
  const { extension, customResources, crdPolicy, blocked, made, staying } = summary;
  const lost = customResources.filter((one) => fateOf(one, crdPolicy) === "deleted");
  const kept = customResources.filter((one) => fateOf(one, crdPolicy) === "kept");
  const data = lost.filter(({ names, unknown }) => names.length > 0 || unknown !== undefined);
  const bundle = extension?.status?.install?.bundle;
  const lines = [
    ...(data.length > 0
      ? [
          "These custom resources would be DELETED, with all that their operator has made of them:",
          ...data.flatMap((one) => usedLines(screen, one)),
          "",
        ]
      : []),
    ...(extension
      ? [
          `ClusterExtension ${extension.metadata.name} goes, with ${bundle ? `${bundle.name} and its ${counted(extension.status?.inventory?.count ?? 0, "object")}` : "nothing installed"}`,
        ]
      : []),
    ...lost.filter((one) => !data.includes(one)).map(({ crd }) => `  with ${describeObject(crd)}, of which there are no custom resources`),
    ...(kept.length > 0
      ? [
          `These definitions stay, with their custom resources (spec.uninstall.crdPolicy ${crdPolicy}):`,
          ...kept.flatMap((one) => usedLines(screen, one)),
        ]
      : []),
    ...(made.length > 0 ? ["What olmv1 install made goes after it:", ...made.map((object) => `  ${describeObject(object)}`)] : []),
    ...staying,
    ...(extension && blocked.length > 0 ? ["", ...blockedLines(screen, extension, blocked)] : []),
  ];
  return `${lines.map(escapeControlCharacters).join("\n")}\n`;
}

/** What will stop the uninstall, and the ways out, as `olmv1 describe` shows them once it has stopped. */
function blockedLines(screen: Pick<Terminal, "width">, extension: ClusterExtension, blocked: readonly string[]): string[] {
  const { next } = plainWords(extension, { reason: Reason.ConversionNeeded, message: "" });
  return [
    ...wrapped("The uninstall will stop before it removes anything, with reason ConversionNeeded:", screen.width),
    ...blocked.flatMap((text) => wrapped(text, screen.width, "    ").map((line, i) => (i === 0 ? line.slice(2) : line))),
    ...wrapped("It resumes once the custom resources are deleted, or after one of:", screen.width),
    ...next.map((line) => `  ${line}`),
  ];
}

function usedLines(screen: Pick<Terminal, "width">, { crd, names, isMore, unknown }: CustomResources): string[] {
  const more = names.length - NAMES_SHOWN;
  const shown = [...names.slice(0, NAMES_SHOWN), ...(more > 0 ? [`… and ${more}${isMore ? " or more" : ""} more`] : [])].join(", ");
  const count = unknown === undefined ? `${names.length}${isMore ? "+" : ""}` : "not to be seen";
  const text = `${crd.metadata.name} (${count})${shown === "" ? "" : `: ${shown}`}${unknown === undefined ? "" : `: ${unknown}`}`;
  return wrapped(text, screen.width, "    ").map((line, i) => (i === 0 ? line.slice(2) : line));
}
