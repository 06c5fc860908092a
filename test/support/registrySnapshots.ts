import type { RegistrySnapshot } from "../../pkg/doctor/registrySnapshot.ts";
import { MIRROR_KINDS } from "../../pkg/oci/registries/registryObjects.ts";

const NOTHING = { value: undefined };

/** A cluster without OpenShift's kinds and without the ConfigMap of olmv1. */
export const NO_REGISTRIES: RegistrySnapshot = {
  mirrors: MIRROR_KINDS.map(({ kind }) => ({ kind, objects: NOTHING })),
  image: NOTHING,
  authorities: NOTHING,
  configMaps: [NOTHING],
  files: [],
  reader: NOTHING,
};
