import { expect, test } from "vitest";
import { type BundleParts, bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { selfSigned } from "../certificates/providers.ts";
import { renderBundle } from "./render.ts";

interface RuleCase extends CaseHead {
  bundle: BundleParts;
  ids?: string[];
  /** Members by id. */
  objects?: Record<string, JsonObject>;
  error?: string;
}

const idOf = ({ kind, metadata: { namespace = "-", name } }: KubeObject): string =>
  `${kind} ${namespace}/${name.replace(/-[a-z0-9]{43,}$/, "-H")}`;

test.for(loadCases<RuleCase>("bundle-rules"))("$name", ({ bundle, ids, objects = {}, error }) => {
  const render = (): KubeObject[] => renderBundle(bundleOf(bundle), { installNamespace: "ns", certProvider: selfSigned });
  if (error !== undefined) {
    expect(render).toThrow(expect.objectContaining({ message: error, reason: "Retrying", retry: true }));
    return;
  }
  const rendered = render();
  expect(rendered.map(idOf)).toEqual(ids);
  for (const [id, members] of Object.entries(objects)) expect(rendered.find((object) => idOf(object) === id)).toMatchObject(members);
});
