import type * as z from "zod";
import { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import { ClusterExtension } from "../../pkg/api/clusterExtension.ts";

/** A column of `kubectl get`. */
export interface PrinterColumn {
  name: string;
  type: "string" | "date";
  jsonPath: string;
  /** From 1: shown by `-o wide` only. */
  priority?: number;
}

/** What a CustomResourceDefinition says about a kind beside its schema. */
export interface KindDescription {
  kind: string;
  singular: string;
  plural: string;
  schema: z.ZodType;
  columns: readonly PrinterColumn[];
}

const age: PrinterColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

/** Every kind that is served, in the order of the reference. All of them are cluster-scoped and have a status. */
export const KINDS: readonly KindDescription[] = [
  {
    kind: "ClusterExtension",
    singular: "clusterextension",
    plural: "clusterextensions",
    schema: ClusterExtension,
    columns: [
      { name: "Installed Bundle", type: "string", jsonPath: ".status.install.bundle.name" },
      { name: "Version", type: "string", jsonPath: ".status.install.bundle.version" },
      { name: "Installed", type: "string", jsonPath: ".status.conditions[?(@.type=='Installed')].status" },
      { name: "Progressing", type: "string", jsonPath: ".status.conditions[?(@.type=='Progressing')].status" },
      age,
      { name: "Available", type: "string", jsonPath: ".status.conditions[?(@.type=='Available')].status", priority: 1 },
      { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status", priority: 1 },
      { name: "Update", type: "string", jsonPath: ".status.availableUpdates[0].version", priority: 1 },
    ],
  },
  {
    kind: "ClusterCatalog",
    singular: "clustercatalog",
    plural: "clustercatalogs",
    schema: ClusterCatalog,
    columns: [
      { name: "LastUnpacked", type: "date", jsonPath: ".status.lastUnpacked" },
      { name: "Serving", type: "string", jsonPath: '.status.conditions[?(@.type=="Serving")].status' },
      age,
    ],
  },
];
