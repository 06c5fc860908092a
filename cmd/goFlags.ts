import * as z from "zod";
import type { Logger } from "../pkg/telemetry/log.ts";
import type { FeatureGates } from "./featureGates.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
const KLOG = "the log is JSON lines on standard output";
/** Flags of the reference implementation that mean nothing here, with why; those that stand alone there do so here. */
const IGNORED = {
  "pprof-bind-address": { why: "Node.js has no pprof; SIGUSR1 opens a process's inspector", isSwitch: false },
  "webhook-server-port": { why: "there is no webhook: the controller sets the label of catalogs itself", isSwitch: false },
  add_dir_header: { why: KLOG, isSwitch: true },
  alsologtostderr: { why: KLOG, isSwitch: true },
  legacy_stderr_threshold_behavior: { why: KLOG, isSwitch: true },
  log_backtrace_at: { why: KLOG, isSwitch: false },
  log_dir: { why: KLOG, isSwitch: false },
  log_file: { why: KLOG, isSwitch: false },
  log_file_max_size: { why: KLOG, isSwitch: false },
  logtostderr: { why: KLOG, isSwitch: true },
  one_output: { why: KLOG, isSwitch: true },
  skip_headers: { why: KLOG, isSwitch: true },
  skip_log_headers: { why: KLOG, isSwitch: true },
  stderrthreshold: { why: KLOG, isSwitch: false },
  vmodule: { why: KLOG, isSwitch: false },
} as const;
type IgnoredFlag = keyof typeof IGNORED;

/** Flags about the log that both servers have, to be spread into their flags. */
export function logFlags() {
  return {
    "log-level": z
      .enum(LEVELS)
      .optional()
      .describe("least level that is logged: debug, info, warn or error; default: what -v says, else info"),
    v: z.coerce
      .number({ error: "want a whole number from 0 on" })
      .int()
      .min(0)
      .optional()
      .describe("verbosity as klog counts it, also as -v: 0 is --log-level=info, more is --log-level=debug; --log-level comes first"),
  };
}

/** The least level that is logged, by what was given for `logFlags`. */
export function logLevelOf(flags: { "log-level"?: (typeof LEVELS)[number] | undefined; v?: number | undefined }): string {
  return flags["log-level"] ?? ((flags.v ?? 0) > 0 ? "debug" : "info");
}

/** Flags that are taken and do nothing, to be spread into a server's flags behind all others. */
export function ignoredFlags() {
  const shape = Object.entries(IGNORED).map(([name, { why, isSwitch }]) => [
    name,
    z
      .string()
      .optional()
      .meta({ description: `without effect, taken for compatibility: ${why}`, isSwitch }),
  ]);
  return Object.fromEntries(shape) as Record<IgnoredFlag, z.ZodOptional<z.ZodString>>;
}

/** Says once what was asked for that has no effect here: flags, and feature gates. What asks for nothing (no pprof) is not told. */
export function tellIgnored(
  flags: Partial<Record<IgnoredFlag, string | undefined>> & { "feature-gates": FeatureGates<string> },
  log: Logger,
): void {
  const names = Object.keys(IGNORED).filter((name): name is IgnoredFlag => Object.hasOwn(flags, name));
  const given = names.filter((name) => flags[name] !== undefined && !(name === "pprof-bind-address" && /^0?$/.test(flags[name])));
  if (given.length > 0) log.warn({ flags: given.map((name) => `--${name}: ${IGNORED[name].why}`) }, "flags without effect");
  const gates = flags["feature-gates"];
  if (gates.ignored.length > 0) log.warn({ gates: gates.ignored }, "feature gates without effect");
}
