import type { Step } from "../../controller/steps.ts";
import { wrapError } from "../../errors/errors.ts";
import type { CatalogFacts, UnpackedImage } from "../facts.ts";

/** Fetches catalog images; of each only the catalog's folder is unpacked. */
export interface CatalogPuller {
  /** @param identity the reference that the signature policy is applied to; `ref` by default. */
  pull(name: string, ref: string, signal: AbortSignal, identity?: string): Promise<UnpackedImage>;
}

/** Unpacks the wanted image unless its content is stored already. */
export function unpackImage(puller: CatalogPuller): Step<CatalogFacts["catalog"], CatalogFacts> {
  return {
    name: "UnpackImage",
    async run(facts, { signal }) {
      const { catalog, content } = facts;
      if (content) return undefined;
      try {
        facts.unpacked = await puller.pull(catalog.metadata.name, catalog.spec.source.image?.ref ?? "", signal);
      } catch (err) {
        throw wrapError("source catalog content: ", err);
      }
      return undefined;
    },
  };
}
