import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { createLogger } from "../../pkg/telemetry/log.ts";
import { usage as catalogdUsage, parseFlags as parseCatalogd } from "../catalogd/flags.ts";
import { usage as controllerUsage, parseFlags as parseController } from "../operator-controller/flags.ts";
import { getLogLevel, logIgnoredFlags } from "./flags.ts";
import { PROGRAM_VERSION } from "./program.ts";

/** Every flag of the Go implementation. Source: C-04, I-30; klog v2. */
const KLOG =
  "v vmodule log_dir log_file log_file_max_size logtostderr alsologtostderr add_dir_header skip_headers one_output skip_log_headers stderrthreshold log_backtrace_at";
const SHARED =
  "metrics-bind-address health-probe-bind-address pprof-bind-address leader-elect system-namespace tls-cert tls-key pull-cas-dir " +
  `global-pull-secret feature-gates tls-profile tls-custom-ciphers tls-custom-curves tls-custom-version kubeconfig ${KLOG}`;
const GO_FLAGS = {
  catalogd: `${SHARED} catalogs-server-addr external-address cache-dir gc-interval webhook-server-port`,
  "operator-controller": `${SHARED} catalogd-cas-dir cache-path`,
};
const USAGE = { catalogd: catalogdUsage(), "operator-controller": controllerUsage() };

test.for(["catalogd", "operator-controller"] as const)("%s accepts every flag of the Go implementation", (program) => {
  const here = new Set([...USAGE[program].matchAll(/^ {2}--(\S+)/gm)].map(([, name]) => name));
  expect(GO_FLAGS[program].split(" ").filter((name) => !here.has(name))).toEqual([]);
});

test.for([
  [[], "info"],
  [["-v=0"], "info"],
  [["-v=4"], "debug"],
  [["-v4"], "debug"],
  [["-v", "2"], "debug"],
  [["--v=1"], "debug"],
  [["-v=4", "--log-level=warn"], "warn"],
] as const)("flags %j set log level %s", ([args, level]) => {
  for (const parse of [parseCatalogd, parseController]) {
    const flags = parse([...args]);
    expect(flags !== "help" && getLogLevel(flags)).toBe(level);
  }
});

test.for([
  [["-v=x"], "--v: must be a whole number, 0 or greater"],
  [["-x"], "Unknown option '-x'"],
  [["-cache-dir=a"], "Unknown option '-c'"],
  [["--constructor"], "Unknown option '--constructor'"],
  [["version", "--v=1"], "Unexpected argument 'version'"],
] as const)("catalogd rejects flags %j", ([args, message]) => {
  expect(() => parseCatalogd([...args])).toThrow(message);
});

test("flag -h prints the help", () => {
  expect(parseCatalogd(["-h"])).toBe("help");
});

test("logIgnoredFlags logs all flags that have no effect in one line", () => {
  const lines: string[] = [];
  const log = createLogger({ component: "test", destination: { write: (line) => lines.push(line) } });
  const flags = parseCatalogd(["--logtostderr", "--pprof-bind-address=0", "--webhook-server-port", "9443", "--vmodule=a=1"]);
  if (flags !== "help") logIgnoredFlags(flags, log);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    {
      msg: "some flags have no effect",
      flags: [
        "--webhook-server-port: there is no webhook; catalogd sets the name label of catalogs",
        "--logtostderr: logs are written as JSON lines to standard output",
        "--vmodule: logs are written as JSON lines to standard output",
      ],
    },
  ]);
});

test("PROGRAM_VERSION equals the version in package.json", () => {
  expect(PROGRAM_VERSION).toBe(packageJson.version);
});
