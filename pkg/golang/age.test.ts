import { expect, test } from "vitest";
import { formatAge } from "./time.ts";

const NOW = Date.parse("2026-03-10T12:00:00Z");

// Source: k8s.io/apimachinery v0.36.3 pkg/util/duration/duration_test.go, HumanDuration.
test.for([
  ["2026-03-10T12:00:00Z", "0s"],
  ["2026-03-10T12:00:05Z", "0s"],
  ["2026-03-10T11:58:01Z", "119s"],
  ["2026-03-10T11:58:00Z", "2m"],
  ["2026-03-10T11:54:30Z", "5m30s"],
  ["2026-03-10T09:30:00Z", "150m"],
  ["2026-03-10T08:30:00Z", "3h30m"],
  ["2026-03-09T12:00:00Z", "24h"],
  ["2026-03-07T08:00:00Z", "3d4h"],
  ["2026-01-01T12:00:00Z", "68d"],
  ["2023-03-10T12:00:00Z", "3y1d"],
  ["2006-03-10T12:00:00Z", "20y"],
  [undefined, "<unknown>"],
  ["soon", "<unknown>"],
] as const)("formatAge of %s returns %s", ([since, want]) => {
  expect(formatAge(since, NOW)).toBe(want);
});
