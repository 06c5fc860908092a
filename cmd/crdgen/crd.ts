import { ANNOTATION_GENERATOR, GROUP, VERSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { KindDescription } from "./kinds.ts";
import { type Structural, toStructural } from "./structural.ts";

const API_VERSION_FIELD: Structural = {
  description: "apiVersion is the group and version of this representation of the object.",
  type: "string",
};
const KIND_FIELD: Structural = { description: "kind is what the object is.", type: "string" };

/** The CustomResourceDefinition of a kind; all members, the experimental ones included, so the generator is "experimental". */
export function crdFrom(kind: KindDescription): KubeObject {
  const { singular, plural, columns } = kind;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}`, annotations: { [ANNOTATION_GENERATOR]: "experimental" } },
    spec: {
      group: GROUP,
      names: { kind: kind.kind, listKind: `${kind.kind}List`, plural, singular },
      scope: "Cluster",
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          additionalPrinterColumns: columns,
          subresources: { status: {} },
          schema: { openAPIV3Schema: openApiSchema(kind) },
        },
      ],
    },
  };
}

/** The kind's schema with the members that every object has. */
export function openApiSchema({ schema }: KindDescription): Structural {
  const root = toStructural(schema);
  const { metadata: _, ...members } = root.properties ?? {};
  return { ...root, properties: { apiVersion: API_VERSION_FIELD, kind: KIND_FIELD, metadata: { type: "object" }, ...members } };
}
