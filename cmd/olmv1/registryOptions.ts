import type { Command } from "commander";

/** Adds the options that say how images are pulled, those of `ReaderOptions`. */
export function addRegistryOptions(command: Command): Command {
  return command
    .option("--registries-conf <path>", "a registries.conf for images")
    .option("--signature-policy <path>", "a policy.json about whose images are taken; default: the system's")
    .option("--auth-file <path>", "a docker config file with registry credentials; default: those of docker login and podman login");
}

/** The same, for commands that push images. */
export function addPushOptions(command: Command): Command {
  return addRegistryOptions(command).option(
    "--insecure",
    "the registry pushed to may speak plain HTTP, or have a certificate that nobody vouches for",
  );
}
