import { createRequire } from "node:module";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { summarizeBundle } from "../bundle/bundleSummary.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { readBundleConfig } from "./config.ts";
import { buildUserConfigSchema } from "./configSchema.ts";

interface Validator {
  compile(schema: object): (value: unknown) => boolean;
}

/** An independent JSON Schema validator, from the web framework. */
function otherValidator(): Validator {
  const framework = createRequire(createRequire(import.meta.url).resolve("fastify"));
  const load = createRequire(framework.resolve("@fastify/ajv-compiler"));
  const { Ajv } = load("ajv") as { Ajv: new (options: object) => Validator };
  return new Ajv({ strict: false, validateFormats: false });
}

const validator = otherValidator();
const MODES = ["AllNamespaces", "MultiNamespace", "OwnNamespace", "SingleNamespace"];
const modes = fc.subarray(MODES, { minLength: 1 });
const namespace = fc.constantFrom("ns", "a", "b", "", "*", "Bad_", "x".repeat(64));
const watchNamespace = fc.oneof(namespace, fc.constantFrom(null, 5));
const watchNamespaces = fc.oneof(fc.array(namespace, { maxLength: 4 }), fc.constantFrom("a", null));
const selector = fc.constantFrom(
  {},
  { matchLabels: { app: "a" } },
  { matchLabel: {} },
  { matchExpressions: [{ key: "a", operator: "Is" }] },
);
const deploymentConfig = fc.record(
  {
    selector,
    includeInitContainers: fc.constantFrom(true, "yes"),
    env: fc.constantFrom([], [{ name: "A", value: "b" }], [{ value: "b" }], "A=b"),
    nodeSelector: fc.constantFrom({}, { a: "b" }, { a: 1 }),
    misspelt: fc.constant(1),
  },
  { requiredKeys: [] },
);
const config = fc.record(
  { watchNamespace, watchNamespaces, deploymentConfig, deploymentConfigs: fc.array(deploymentConfig, { maxLength: 2 }) },
  { requiredKeys: [] },
);

/** Returns the validation error of a configuration; undefined if it is valid. */
function refusal(supported: readonly string[], value: unknown): string | undefined {
  try {
    readBundleConfig(bundleOf({ modes: supported }).csv, value, { installNamespace: "ns", deploymentConfig: true, extended: true });
    return undefined;
  } catch (err) {
    return getErrorMessage(err);
  }
}

test("buildUserConfigSchema accepts all configurations that renderBundle accepts", () => {
  const schemas = new Map<string, (value: unknown) => boolean>();
  const accepts = (supported: readonly string[], value: unknown): boolean => {
    const key = supported.join();
    const found = schemas.get(key) ?? validator.compile(buildUserConfigSchema(summarizeBundle(bundleOf({ modes: supported })), "ns"));
    schemas.set(key, found);
    return found(value);
  };
  fc.assert(
    fc.property(modes, config, (supported, value) => {
      const why = refusal(supported, value);
      if (why === undefined) expect(accepts(supported, value)).toBe(true);
      else if (accepts(supported, value))
        expect(why).toMatch(/invalid value for field "(watchNamespaces|deploymentConfigs?[.\d]*\.selector)"/);
    }),
    { numRuns: 2_000 },
  );
});

test.for<[modes: string[], fields: string[], required: unknown]>([
  [["AllNamespaces"], ["deploymentConfig", "deploymentConfigs", "watchNamespace", "watchNamespaces"], undefined],
  [["OwnNamespace"], ["deploymentConfig", "deploymentConfigs", "watchNamespace"], ["watchNamespace"]],
  [["MultiNamespace"], ["deploymentConfig", "deploymentConfigs", "watchNamespaces"], ["watchNamespaces"]],
])("buildUserConfigSchema for install modes %j has the fields %j", ([supported, fields, required]) => {
  const schema = buildUserConfigSchema(summarizeBundle(bundleOf({ modes: supported })));
  expect(Object.keys(schema["properties"] as object).sort()).toEqual(fields);
  expect(schema["required"]).toEqual(required);
  for (const property of Object.values(schema["properties"] as object))
    expect(property).toMatchObject({ description: expect.stringMatching(/\w/) });
});

test("buildUserConfigSchema does not restrict the namespace if the install namespace is unknown", () => {
  const bundle = summarizeBundle(bundleOf({ modes: ["OwnNamespace"] }));
  expect(validator.compile(buildUserConfigSchema(bundle))({ watchNamespace: "a" })).toBe(true);
  expect(validator.compile(buildUserConfigSchema(bundle, "ns"))({ watchNamespace: "a" })).toBe(false);
});
