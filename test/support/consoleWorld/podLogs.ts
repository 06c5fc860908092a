import type { KubeObject } from "../../../pkg/api/k8s.ts";
import type { ContainerLog, LogLine } from "../kubeletLogs.ts";
import { CANARY } from "./canary.ts";
import { HOSTILE_LINE, HOSTILE_TEXTS } from "./hostileTexts.ts";

/** Number of lines that a container writes at its start, and the interval between them. */
const STARTUP_LINES = 180;
const STARTUP_INTERVAL_MS = 25;
/** Interval of the lines afterwards. */
const INTERVAL_MS = 2_000;

const STARTUP = [
  "starting manager",
  "starting server name=health probe addr=[::]:8081",
  "Serving metrics server bindAddress=:8443 secure=true",
  "attempting to acquire leader lease",
  "successfully acquired lease",
  "Starting EventSource source=kind source",
  "Starting Controller",
  "Starting workers worker count=4",
];
const WORK = [
  "Reconciling",
  "Reconciled without changes",
  "Updated status conditions=2",
  "requeueAfter=30s",
  "cache is up to date objects=42",
  "Observed generation=3 phase=Running",
];
const CRASH = [
  "I starting operator version=3.3.0",
  "I reading configuration from /etc/kafka-operator/config.yaml",
  "I connecting to kafka-bootstrap.kafka-operator-system.svc:9093",
  "W dial tcp 10.0.0.117:9093: connect: connection refused, retrying in 2s attempt=1",
  "W dial tcp 10.0.0.117:9093: connect: connection refused, retrying in 4s attempt=2",
  "E cannot load the cluster certificate: open /etc/tls/tls.crt: no such file or directory",
  "panic: runtime error: invalid memory address or nil pointer dereference",
  "[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x1c3f2a4]",
  "",
  "goroutine 1 [running]:",
  "main.(*manager).loadCertificate(0x0)",
  "\t/workspace/cmd/manager/certificates.go:87 +0x44",
  "main.main()",
  "\t/workspace/cmd/manager/main.go:142 +0x1e5",
  "exit status 1",
];

/** Returns the log of a simulated container: start-up, then a line every two seconds; or a crash. */
export function readSimulatedLog(pod: KubeObject, container: string, previous: boolean): ContainerLog | undefined {
  const { startTime, containerStatuses = [] } = (pod["status"] ?? {}) as {
    startTime?: string;
    containerStatuses?: { name: string; state?: object; lastState?: { terminated?: object } }[];
  };
  const status = containerStatuses.find(({ name }) => name === container);
  if (startTime === undefined || status === undefined) return undefined;
  const start = Date.parse(startTime);
  const texts = pod.metadata.namespace === CANARY.namespace ? [...Object.values(HOSTILE_TEXTS), HOSTILE_LINE] : CRASH;
  if (status.lastState?.terminated) return toEndedLog(texts, previous ? start - 60_000 : start - 5_000);
  return previous ? undefined : { line: (index) => writeLine(pod, start, index) };
}

/** Returns the log of a container that has ended: these lines, one every 300 ms. */
function toEndedLog(texts: readonly string[], start: number): ContainerLog {
  return {
    line: (index) => {
      const text = texts[index];
      return text === undefined ? undefined : { time: new Date(start + index * 300), text };
    },
  };
}

function writeLine({ metadata }: KubeObject, start: number, index: number): LogLine {
  const sinceStart =
    index < STARTUP_LINES ? index * STARTUP_INTERVAL_MS : STARTUP_LINES * STARTUP_INTERVAL_MS + (index - STARTUP_LINES) * INTERVAL_MS;
  const time = new Date(start + sinceStart);
  const message = STARTUP[index] ?? WORK[(index * 7) % WORK.length] ?? "";
  const level = index > STARTUP.length && index % 37 === 0 ? "WARN" : "INFO";
  const logger = STARTUP[index] === undefined ? `controller.${["cluster", "user", "backup"][index % 3]}` : "setup";
  return { time, text: `${time.toISOString()}\t${level}\t${logger}\t${message}\t{"namespace": "${metadata.namespace}", "line": ${index}}` };
}
