import { parseReference, type Reference } from "../../../pkg/oci/reference.ts";

/**
 * Returns the repository in `--registry`. The command pushes images for a test to it.
 * @param registry value of the option
 * @param published what the command pushes, for the error
 * @throws Error if it is missing, invalid, or has a tag or digest
 */
export function requireRepository(registry: string | undefined, published: string): Reference {
  if (registry === undefined)
    throw new Error(
      `cannot publish ${published}: no registry. Use --registry with a repository that you can push to and the cluster can pull from, or --embedded`,
    );
  const repository = parseReference(registry);
  if (repository.tag !== undefined || repository.digest !== undefined)
    throw new Error(`--registry ${registry} must be a repository without tag and digest`);
  return repository;
}
