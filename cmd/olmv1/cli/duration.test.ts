import { expect, test } from "vitest";
import { runCli } from "../../../test/support/runCli.ts";
import { parseDurationOption } from "./options.ts";

test.for([
  ["90s", 90_000],
  ["5m", 300_000],
  ["1h30m", 5_400_000],
  ["0s", 0],
  ["250ms", 250],
] as const)("parseDurationOption reads %s as %d ms", ([text, want]) => {
  expect(parseDurationOption(text)).toBe(want);
});

test.for(["", "m", "5 m", "1d", "-5m", "5m!"])('parseDurationOption rejects "%s" with examples', (text) => {
  expect(() => parseDurationOption(text)).toThrow("Use a duration such as 30s, 5m or 1h30m.");
});

test.for(["0", "8", "1.5"])("parseDurationOption rejects the bare number %s with an example", (text) => {
  expect(() => parseDurationOption(text)).toThrow(`The unit is missing: use ${text}s for seconds or ${text}m for minutes.`);
});

const WITH_DURATION: readonly [command: string, option: string][] = [
  ["install p", "--timeout"],
  ["upgrade x", "--timeout"],
  ["uninstall x", "--timeout"],
  ["rollback x", "--timeout"],
  ["approve x", "--timeout"],
  ["catalog add c quay.io/a/b:v1", "--timeout"],
  ["catalog add c quay.io/a/b:v1", "--poll-interval"],
  ["migrate catalogs", "--timeout"],
  ["migrate convert s", "--timeout"],
  ["migrate rollback x", "--timeout"],
];

test.for(WITH_DURATION)("olmv1 %s rejects a bare number for %s when it reads its options", async ([command, option]) => {
  const { code, err } = await runCli([...command.split(" "), option, "8"]);
  expect([code, err]).toEqual([2, expect.stringContaining(`'${option} <duration>' argument '8' is invalid. The unit is missing: use 8s`)]);
});
