import { describe, expect, test } from "vitest";
import type { Meta } from "../types.ts";
import { type BundleDetails, readBundleDetails } from "./bundleDetails.ts";

function metaWith(value: unknown): Meta {
  return { schema: "olm.bundle", package: "p", name: "p.v1", blob: { properties: [{ type: "olm.csv.metadata", value }] } };
}
const NOTHING: BundleDetails = { links: [], maintainers: [], provided: [] };
const EXAMPLE = { apiVersion: "g.example.com/v1", kind: "Thing", metadata: { name: "x" } };

// Source: S0-127, S0-128, S0-134, S0-135, S0-137, S0-138, S0-139.
test.for<[string, unknown, Partial<BundleDetails>]>([
  ["nothing", {}, {}],
  [
    "links with an address, and maintainers with a name or an address",
    {
      links: [{ name: "A", url: "https://a.example.com" }, { name: "B" }, 7],
      maintainers: [{ name: "N", email: "n@example.com" }, { email: "m@example.com" }, {}],
    },
    {
      links: [{ name: "A", url: "https://a.example.com" }],
      maintainers: [
        { name: "N", email: "n@example.com" },
        { name: "", email: "m@example.com" },
      ],
    },
  ],
  [
    "owned APIs without internal ones",
    {
      annotations: { "operators.operatorframework.io/internal-objects": '["hidden.g.example.com"]' },
      crdDescriptions: {
        owned: [
          { name: "things.g.example.com", version: "v1", kind: "Thing", displayName: "A thing", description: "It is one." },
          { name: "hidden.g.example.com", version: "v1", kind: "Hidden" },
          { name: "broken.g.example.com" },
        ],
      },
      apiServiceDefinitions: { owned: [{ group: "a.example.com", version: "v1", kind: "Api", name: "apis" }] },
    },
    {
      provided: [
        { group: "g.example.com", version: "v1", kind: "Thing", displayName: "A thing", description: "It is one." },
        { group: "a.example.com", version: "v1", kind: "Api" },
      ],
    },
  ],
  ["the suggested namespace", { annotations: { "operatorframework.io/suggested-namespace": "ns" } }, { suggestedNamespace: "ns" }],
  ["the whole description", { description: "# Title\n\nText." }, { longDescription: "# Title\n\nText." }],
])("readBundleDetails reads %s", ([, value, want]) => {
  expect(readBundleDetails(metaWith(value))).toEqual({ ...NOTHING, ...want });
});

describe("readBundleDetails with examples", () => {
  const examplesIn = (text: unknown) => readBundleDetails(metaWith({ annotations: { "alm-examples": text } }), { examples: true }).examples;

  test("readBundleDetails reads the examples in the annotation", () => {
    expect(examplesIn(JSON.stringify([EXAMPLE]))).toEqual([EXAMPLE]);
    expect(examplesIn(" \n")).toEqual([]);
    expect(examplesIn(undefined)).toBeUndefined();
  });

  test.for(["{}", "[1]", "[", "nothing"])("readBundleDetails rejects examples %s", (text) => {
    expect(() => examplesIn(text)).toThrow("annotation alm-examples: not a JSON list of objects");
  });
});
