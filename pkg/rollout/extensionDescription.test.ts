import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import { LABEL_CREATED_FOR } from "../api/constants.ts";
import { readExtensionDescription } from "./extensionDescription.ts";
import { describeInstaller } from "./extensionSummary.ts";

const EXTENSION = createExtension("a", { packageName: "a" });
const OPTIONS = { systemNamespace: "olmv1-system", now: 0 };

test("readExtensionDescription returns the error text of each part that cannot be read", async () => {
  const refuse = (): Promise<never> => Promise.reject(new Error("forbidden"));
  const description = await readExtensionDescription({ get: refuse, list: refuse } as never, EXTENSION, OPTIONS);
  expect(description).toEqual({
    extension: EXTENSION,
    account: { unknown: "forbidden" },
    installed: { refs: [], count: 0 },
    objects: [],
    releases: "forbidden",
    events: "forbidden",
    catalogs: "forbidden",
    others: "forbidden",
  });
});

test.for<[account: object | undefined, state: string, text: string]>([
  [undefined, "missing", "which does not exist"],
  [{}, "there", "its permissions have not been checked yet"],
  [{ [LABEL_CREATED_FOR]: "a" }, "made", "created by olmv1 install"],
])("readExtensionDescription reads the ServiceAccount with labels %j as %s", async ([labels, state, text]) => {
  const client = {
    get: () => Promise.resolve(labels && { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "x", labels } }),
    list: () => Promise.resolve({ items: [], resourceVersion: "1" }),
  };
  const description = await readExtensionDescription(client as never, EXTENSION, OPTIONS);
  expect(description).toMatchObject({ account: state, releases: [], events: [], catalogs: [], others: [] });
  expect(describeInstaller(description)).toContain(text);
});
