/**
 * Labels and annotations that do not affect the operator: those that the controller sets, checksums, and annotations of the ClusterServiceVersion,
 * which registry+v1 copies to Pod templates.
 */
const MINOR_KEY =
  /^(olm\.|olm\.operatorframework\.io\/|operators?\.operatorframework\.io\/|operators\.openshift\.io\/|features\.operators\.openshift\.io\/|console\.openshift\.io\/)|checksum|hash|^(alm-examples|capabilities|categories|certified|containerImage|createdAt|description|repository|support)$/;
const METADATA_FIELD = /^(?:spec\.template\.)?metadata\.(?:annotations|labels)(?:\.([\w$-]+)|\["(.*)"\])$/;

/** Reports whether a changed field does not affect the operator. A plan hides such fields unless the user asks for all. */
export function isMinorField(path: string): boolean {
  const [, plain, quoted] = METADATA_FIELD.exec(path) ?? [];
  const key = plain ?? quoted;
  return key !== undefined && MINOR_KEY.test(key);
}
