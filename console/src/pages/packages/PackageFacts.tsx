import type { ReactElement, ReactNode } from "react";
import { Link } from "react-router";
import type { PackageDetails } from "../../../../pkg/consoleapi/packages.ts";
import { FactList } from "../../components/FactList.tsx";
import { ExternalLink } from "../../components/Markdown.tsx";
import { packagesText } from "../../text/packages.ts";
import { getPackagePath } from "./catalogData.tsx";
import { formatDate, formatVersion } from "./VersionLists.tsx";

const { facts: labels } = packagesText;

/** What is known about a package and the described version. */
export function PackageFacts({ details }: { readonly details: PackageDetails }): ReactElement {
  const { described, links, maintainers, alsoIn, installed = [], certified, repository, latestVersion } = details;
  const support = details.versions.find(({ bundle }) => bundle === described.bundle)?.support;
  return (
    <FactList
      facts={[
        [labels.package, details.package],
        [labels.version, formatVersion(described)],
        [labels.latest, latestVersion === described.version ? undefined : latestVersion],
        [labels.channels, described.channels.join(", ")],
        [labels.supportPhase, support?.text],
        [labels.platforms, support?.platform],
        [labels.catalog, details.catalog],
        [
          labels.alsoIn,
          lines(alsoIn, ({ catalog, version }) => (
            <Link to={getPackagePath({ package: details.package, catalog })}>{[catalog, version].filter(Boolean).join(" ")}</Link>
          )),
        ],
        [
          labels.installations,
          lines(installed, ({ extension, version }) => (
            <Link to={`/extensions/${encodeURIComponent(extension)}`}>{`${extension} ${version}`}</Link>
          )),
        ],
        [labels.provider, details.provider],
        [labels.capability, described.capability],
        [labels.created, formatDate(described.createdAt)],
        [labels.maturity, details.maturity],
        [labels.certified, certified === undefined ? undefined : certified ? labels.yes : labels.no],
        [labels.support, details.support],
        [labels.installModes, described.installModes.join(", ")],
        [labels.namespace, details.suggestedNamespace],
        [labels.architectures, described.architectures.join(", ")],
        [labels.operatingSystems, described.operatingSystems.join(", ")],
        [labels.features, described.infrastructureFeatures.join(", ")],
        [labels.minKube, described.minKubeVersion],
        [labels.maxOpenShift, described.maxOpenShiftVersion],
        [labels.examples, described.exampleKinds.join(", ")],
        [labels.repository, repository && <ExternalLink address={repository}>{repository}</ExternalLink>],
        [labels.links, lines(links, ({ name, url }) => <ExternalLink address={url}>{name}</ExternalLink>)],
        [labels.maintainers, lines(maintainers, ({ name, email }) => [name, email].filter(Boolean).join(", "))],
        [labels.categories, details.categories.join(", ")],
        [labels.keywords, details.keywords.join(", ")],
        [labels.bundle, described.bundle],
        [labels.image, described.image && <code>{described.image}</code>],
        [labels.operatorImage, described.containerImage && <code>{described.containerImage}</code>],
      ]}
    />
  );
}

/** One line for each value; undefined if there are none. */
function lines<T>(values: readonly T[], render: (value: T) => ReactNode): ReactNode {
  if (values.length === 0) return undefined;
  return (
    <ul>
      {values.map((value, i) => (
        <li key={i}>{render(value)}</li>
      ))}
    </ul>
  );
}
