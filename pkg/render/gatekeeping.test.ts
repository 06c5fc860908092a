import { expect, test } from "vitest";
import { type BundleParts, bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { selfSigned } from "../certificates/providers.ts";
import { type RenderOptions, renderBundle } from "./render.ts";

interface GateCase extends CaseHead {
  bundle: BundleParts;
  options?: Omit<Partial<RenderOptions>, "certProvider"> & { certProvider?: boolean };
  isTerminal?: boolean;
  error: string;
}

test.for(loadCases<GateCase>("bundle-gatekeeping"))("$name", ({ bundle, options = {}, isTerminal = false, error }) => {
  const { certProvider = false, ...others } = options;
  const render = (): unknown =>
    renderBundle(bundleOf(bundle), { installNamespace: "install", certProvider: certProvider ? selfSigned : undefined, ...others });
  expect(render).toThrow(
    expect.objectContaining({ message: error, retry: !isTerminal, reason: isTerminal ? "InvalidConfiguration" : "Retrying" }),
  );
});
