import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { isRetryable } from "../errors/errors.ts";
import { renderBundle } from "./render.ts";

const MIB = 1024 * 1024;

function config(name: string, bytes: number) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { text: "x".repeat(bytes) } };
}

test.for<[what: string, render: () => unknown, message: RegExp]>([
  [
    "one object is larger than an API server accepts",
    () => renderBundle(bundleOf({ others: [config("large", 3 * MIB)] }), { installNamespace: "ns" }),
    /^bundle is too large: its ConfigMap large is 31458\d\d bytes as JSON, but an API server accepts at most 3145728$/,
  ],
  [
    "all objects together are too large",
    () => renderBundle(bundleOf({ others: Array.from({ length: 17 }, (_, i) => config(`c${i}`, 2 * MIB)) }), { installNamespace: "ns" }),
    /^bundle is too large: its objects have 3\d{7} bytes as JSON, more than the 33554432 allowed$/,
  ],
  [
    "its permissions need too many Roles in many namespaces",
    () =>
      renderBundle(
        bundleOf({
          modes: ["MultiNamespace"],
          permissions: Array.from({ length: 100 }, (_, i) => ({ serviceAccountName: `s${i}`, rules: [] })),
        }),
        { installNamespace: "ns", config: { watchNamespaces: Array.from({ length: 51 }, (_, i) => `n${i}`) } },
      ),
    /^bundle is too large: its 100 permissions in 51 watched namespaces render to 10200 objects, more than the 10000 allowed$/,
  ],
])("renderBundle throws a terminal error with limit and number when %s", ([, render, message]) => {
  expect(render).toThrow(expect.objectContaining({ message: expect.stringMatching(message) }));
  try {
    render();
  } catch (err) {
    expect(isRetryable(err)).toBe(false);
  }
});
