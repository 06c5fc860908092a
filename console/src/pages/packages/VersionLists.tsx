import "@patternfly/patternfly/components/Table/table.css";
import { Button, ExpandableSection } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import { Link } from "react-router";
import type { PackageDetails, PackageVersion } from "../../../../pkg/consoleapi/packages.ts";
import { Label } from "../../components/Label.tsx";
import { packagesText } from "../../text/packages.ts";
import { getPackagePath } from "./catalogData.tsx";

/** Versions that a list shows before its button. */
const FIRST = 25;
const { columns } = packagesText;

/** The versions of a package by channel: the default channel is open, the others are collapsed. */
export function VersionLists({ details }: { readonly details: PackageDetails }): ReactElement {
  const { channels, versions, versionCount, defaultChannel } = details;
  const [first] = channels;
  return (
    <div className="olm-channels">
      {channels.map((channel) => (
        <Channel
          key={channel.name}
          title={packagesText.channel(channel.name, channel.entries)}
          isDefault={channel.name === defaultChannel}
          isOpen={channel === first}
          deprecated={channel.deprecated}
        >
          <VersionTable details={details} versions={versions.filter((one) => one.channels.includes(channel.name))} channel={channel.name} />
        </Channel>
      ))}
      <Channel title={packagesText.allVersions(versionCount)} isDefault={false} isOpen={channels.length === 0} deprecated={undefined}>
        <VersionTable details={details} versions={versions} channel={undefined} />
        {versions.length < versionCount && <p className="olm-subtle">{packagesText.omitted(versions.length, versionCount)}</p>}
      </Channel>
    </div>
  );
}

function Channel({
  title,
  isDefault,
  isOpen,
  deprecated,
  children,
}: {
  readonly title: string;
  readonly isDefault: boolean;
  readonly isOpen: boolean;
  readonly deprecated: string | undefined;
  readonly children: React.ReactNode;
}): ReactElement {
  const [isExpanded, setExpanded] = useState(isOpen);
  return (
    <ExpandableSection
      isExpanded={isExpanded}
      onToggle={(_event, is) => setExpanded(is)}
      toggleContent={
        <span className="olm-labels">
          <bdi className="olm-break">{title}</bdi>
          {isDefault && (
            <Label isCompact isOutlined>
              {packagesText.defaultChannel}
            </Label>
          )}
          {deprecated !== undefined && (
            <Label isCompact isOutlined status="warning">
              {packagesText.deprecatedNote}
            </Label>
          )}
        </span>
      }
    >
      {deprecated !== undefined && <p className="olm-break">{deprecated}</p>}
      {isExpanded && children}
    </ExpandableSection>
  );
}

function VersionTable({
  details,
  versions,
  channel,
}: {
  readonly details: PackageDetails;
  readonly versions: readonly PackageVersion[];
  /** Undefined for all channels. */
  readonly channel: string | undefined;
}): ReactElement {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? versions : versions.slice(0, FIRST);
  const hasSupport = versions.some(({ support }) => support !== undefined);
  const hasDates = versions.some(({ createdAt }) => createdAt !== undefined);
  return (
    <div className="olm-scroll">
      <table
        className="pf-v6-c-table pf-m-compact olm-versions"
        aria-label={channel === undefined ? packagesText.allVersions(versions.length) : channel}
      >
        <thead className="pf-v6-c-table__thead">
          <tr className="pf-v6-c-table__tr">
            <th scope="col" className="pf-v6-c-table__th">
              {columns.version}
            </th>
            {channel === undefined && (
              <th scope="col" className="pf-v6-c-table__th">
                {columns.channels}
              </th>
            )}
            {hasDates && (
              <th scope="col" className="pf-v6-c-table__th">
                {columns.created}
              </th>
            )}
            {hasSupport && (
              <th scope="col" className="pf-v6-c-table__th">
                {columns.support}
              </th>
            )}
            <th scope="col" className="pf-v6-c-table__th">
              {columns.notes}
            </th>
          </tr>
        </thead>
        <tbody className="pf-v6-c-table__tbody">
          {shown.map((version) => (
            <tr key={version.bundle} className="pf-v6-c-table__tr">
              <td className="pf-v6-c-table__td">
                <VersionLink details={details} version={version} />
              </td>
              {channel === undefined && <td className="pf-v6-c-table__td olm-break">{version.channels.join(", ")}</td>}
              {hasDates && <td className="pf-v6-c-table__td">{formatDate(version.createdAt)}</td>}
              {hasSupport && (
                <td className="pf-v6-c-table__td">
                  <Support version={version} />
                </td>
              )}
              <td className="pf-v6-c-table__td">
                <Notes details={details} version={version} channel={channel} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < versions.length && (
        <Button variant="link" onClick={() => setWhole(true)}>
          {packagesText.showAll(versions.length)}
        </Button>
      )}
    </div>
  );
}

function VersionLink({ details, version }: { readonly details: PackageDetails; readonly version: PackageVersion }): ReactElement {
  const label = formatVersion(version);
  if (version.bundle === details.described.bundle) return <strong className="olm-break">{label}</strong>;
  const { package: name, catalog, versions } = details;
  // Several releases may have the same version, so only the name of the bundle identifies them.
  const isUnique = versions.filter((one) => one.version === version.version).length === 1;
  const path = getPackagePath({ package: name, catalog, version: isUnique ? (version.version ?? version.bundle) : version.bundle });
  return (
    <Link to={path} className="olm-break">
      {label}
    </Link>
  );
}

/** Formats a version with its release. */
export function formatVersion({ version, release, bundle }: Pick<PackageVersion, "version" | "release" | "bundle">): string {
  if (version === undefined) return bundle;
  return release === undefined || version.endsWith(`+${release}`) ? version : `${version} (release ${release})`;
}

function Support({ version: { support } }: { readonly version: PackageVersion }): ReactElement | undefined {
  if (!support) return undefined;
  return (
    <Label isCompact isOutlined status={support.isSupported ? "success" : "warning"} title={support.platform ?? support.text}>
      {support.text}
    </Label>
  );
}

function Notes({
  details: { described },
  version,
  channel,
}: {
  readonly details: PackageDetails;
  readonly version: PackageVersion;
  readonly channel: string | undefined;
}): ReactElement {
  const { headOf, deprecated, installedBy = [], bundle } = version;
  const isHead = channel === undefined ? headOf.length > 0 : headOf.includes(channel);
  return (
    <span className="olm-labels">
      {bundle === described.bundle && (
        <Label isCompact isOutlined>
          {packagesText.described}
        </Label>
      )}
      {isHead && (
        <Label isCompact isOutlined isBlue>
          {channel === undefined ? packagesText.headOf(headOf.join(", ")) : packagesText.head}
        </Label>
      )}
      {installedBy.length > 0 && (
        <Label isCompact isOutlined status="success">
          {packagesText.installedBy(installedBy.join(", "))}
        </Label>
      )}
      {deprecated !== undefined && (
        <Label isCompact isOutlined status="warning" title={deprecated}>
          {packagesText.deprecatedNote}
        </Label>
      )}
    </span>
  );
}

/** Formats a declared time as a date; as it is if it is not a time. */
export function formatDate(time: string | undefined): string {
  if (time === undefined) return "";
  const parsed = Date.parse(time);
  return Number.isNaN(parsed) ? time : new Date(parsed).toISOString().slice(0, 10);
}
