import { z } from "zod";
import { Puller, type PullerOptions } from "../pkg/oci/puller.ts";

/** Flags about registries that both servers have, to be spread into their flags: catalogs and bundles are pulled in the same way. */
export function imageFlags() {
  return {
    "pull-cas-dir": z.string().optional().describe("folder of PEM files that sign registries' certificates"),
    "registries-conf": z.string().optional().describe("path of a registries.conf; default: the system's"),
    "auth-file": z.string().optional().describe("path of a docker config file with registry credentials"),
  };
}

/** What was given for `imageFlags`. */
export interface ImageFlags {
  "pull-cas-dir"?: string | undefined;
  "registries-conf"?: string | undefined;
  "auth-file"?: string | undefined;
}

/** Pulls images with these credentials, authorities and mirrors, and through the proxies of the environment. */
export function pullerFor(flags: ImageFlags, options: Pick<PullerOptions, "cacheDir" | "limits" | "log">): Puller {
  return new Puller({
    ...options,
    registriesConf: flags["registries-conf"],
    authFile: flags["auth-file"],
    casDir: flags["pull-cas-dir"],
  });
}
