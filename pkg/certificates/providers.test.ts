import { expect, test } from "vitest";
import { webhookBundle } from "../../test/support/webhookBundle.ts";
import { loadBundle } from "../bundle/load.ts";
import { renderBundle } from "../render/render.ts";
import { CERTIFICATE_PROVIDERS, certManager, findProvider, serviceCa } from "./providers.ts";

const bundle = loadBundle(new Map(Object.entries(webhookBundle("1.0.0")).map(([path, text]) => [path, Buffer.from(text)])));
const rendered = (certProvider: typeof certManager) => renderBundle(bundle, { installNamespace: "ns", certProvider });

test.for(CERTIFICATE_PROVIDERS)("findProvider returns $name for objects rendered with it", (provider) => {
  expect(findProvider(rendered(provider))).toBe(provider);
});

test("findProvider ignores the bundle's own annotations on objects without webhooks", () => {
  const hints = { ...certManager.annotations("CustomResourceDefinition", NAMES), ...serviceCa.annotations("Service", NAMES) };
  const objects = rendered(certManager).filter(({ kind }) => kind !== "Deployment");
  expect(findProvider(objects.map((object) => ({ ...object, metadata: { ...object.metadata, annotations: hints } })))).toBeUndefined();
  expect(findProvider([])).toBeUndefined();
});

const NAMES = { serviceName: "tiny-service", certificateName: "tiny-service-cert", namespace: "ns" };
