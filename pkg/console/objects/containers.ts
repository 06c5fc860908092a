import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import type { MoodText } from "../../consoleapi/live.ts";
import type { ContainerRow } from "../../consoleapi/objects.ts";
import { getListAt, getMemberAt, getNumberAt, getTextAt, truncateText } from "../../release/health/healthState.ts";

const MAX_CONTAINERS = 100;
/** Waiting reasons of a normal start. */
const STARTING: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing", ""]);
const ORDER: Readonly<Record<string, number>> = { bad: 0, warning: 1 };

/** Returns the containers of a Pod, those that do not work first. */
export function listContainers(pod: KubeObject): ContainerRow[] {
  const statuses = new Map(
    ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"]
      .flatMap((member) => getListAt(pod, `status.${member}`))
      .map((status) => [getTextAt(status, "name"), status]),
  );
  const toRow = (container: JsonObject, kind: ContainerRow["kind"]): ContainerRow => {
    const name = getTextAt(container, "name");
    return { name, kind, image: truncateText(getTextAt(container, "image")), ...describeStatus(statuses.get(name) ?? {}, kind) };
  };
  const rows = [
    ...getListAt(pod, "spec.containers").map((container) => toRow(container, "container")),
    ...getListAt(pod, "spec.initContainers").map((container) =>
      toRow(container, getTextAt(container, "restartPolicy") === "Always" ? "sidecar" : "init"),
    ),
    ...getListAt(pod, "spec.ephemeralContainers").map((container) => toRow(container, "ephemeral")),
  ];
  const rank = ({ state }: ContainerRow): number => ORDER[state.mood ?? ""] ?? 2;
  return rows.slice(0, MAX_CONTAINERS).sort((one, other) => rank(one) - rank(other));
}

function describeStatus(
  status: JsonObject,
  kind: ContainerRow["kind"],
): Pick<ContainerRow, "state" | "message" | "restarts" | "hasPrevious"> {
  return {
    ...describeState(status, kind),
    restarts: getNumberAt(status, "restartCount"),
    hasPrevious: getMemberAt(status, "lastState.terminated") !== undefined,
  };
}

function describeState(status: JsonObject, kind: ContainerRow["kind"]): { state: MoodText; message: string } {
  if (getMemberAt(status, "state.running") !== undefined) {
    const isReady = status["ready"] === true || kind === "ephemeral";
    return { state: isReady ? { text: "running", mood: "good" } : { text: "running, not ready", mood: "warning" }, message: "" };
  }
  if (getMemberAt(status, "state.terminated") !== undefined) {
    const isDone = getNumberAt(status, "state.terminated.exitCode") === 0;
    return { state: isDone ? { text: "completed", mood: "good" } : { text: "failed", mood: "bad" }, message: describeEnd(status, "state") };
  }
  const reason = getTextAt(status, "state.waiting.reason");
  const message = truncateText([getTextAt(status, "state.waiting.message"), describeEnd(status, "lastState")].filter(Boolean).join("; "));
  return {
    state: STARTING.has(reason) ? { text: reason || "waiting", mood: "warning" } : { text: truncateText(reason), mood: "bad" },
    message,
  };
}

/** Describes how a container ended, such as `exit code 1 (Error)`; empty if it did not. */
function describeEnd(status: JsonObject, member: "state" | "lastState"): string {
  if (getMemberAt(status, `${member}.terminated`) === undefined) return "";
  const reason = getTextAt(status, `${member}.terminated.reason`);
  const message = getTextAt(status, `${member}.terminated.message`);
  const code = `exit code ${getNumberAt(status, `${member}.terminated.exitCode`)}${reason && ` (${reason})`}`;
  return truncateText(message === "" ? code : `${code}: ${message}`);
}
