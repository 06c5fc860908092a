import { Button, Checkbox, FormSelect, FormSelectOption } from "@patternfly/react-core";
import { type ReactElement, useEffect, useState } from "react";
import type { PackageFilters } from "../../../../pkg/consoleapi/packages.ts";
import { SearchField } from "../../components/SearchField.tsx";
import { packagesText } from "../../text/packages.ts";
import { useCatalogData } from "./catalogData.tsx";
import type { usePackageFilters } from "./packageFilters.ts";

/** Time after the last key before a search starts, in milliseconds. */
const PAUSE_MS = 200;
const ARCHITECTURES = ["amd64", "arm64", "ppc64le", "s390x"];
/** The levels that operators declare. */
const CAPABILITIES = ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"];
const { filters: labels } = packagesText;

/** Search field and filters of the software catalog. */
export function FilterBar({
  filters,
  setFilters,
  catalogs,
}: {
  readonly filters: PackageFilters;
  readonly setFilters: ReturnType<typeof usePackageFilters>[1];
  readonly catalogs: readonly string[];
}): ReactElement {
  const { hasCluster } = useCatalogData();
  const names = filters.catalog === undefined || catalogs.includes(filters.catalog) ? catalogs : [...catalogs, filters.catalog];
  return (
    <div className="olm-filters" role="search">
      <PausedSearch text={filters.text ?? ""} onChange={(text) => setFilters({ text })} />
      <FilterSelect
        label={labels.catalog}
        any={labels.anyCatalog}
        value={filters.catalog}
        values={names}
        onChange={(catalog) => setFilters({ catalog })}
      />
      <FilterSelect
        label={labels.capability}
        any={labels.anyCapability}
        value={filters.capability}
        values={CAPABILITIES}
        onChange={(capability) => setFilters({ capability })}
      />
      <FilterSelect
        label={labels.arch}
        any={labels.anyArch}
        value={filters.arch}
        values={ARCHITECTURES}
        onChange={(arch) => setFilters({ arch })}
      />
      <FormSelect
        className="olm-filter-select"
        aria-label={labels.deprecated}
        value={filters.deprecated ?? ""}
        onChange={(_event, value) => setFilters({ deprecated: value })}
      >
        <FormSelectOption value="" label={labels.anyDeprecated} />
        <FormSelectOption value="false" label={labels.notDeprecated} />
        <FormSelectOption value="true" label={labels.onlyDeprecated} />
      </FormSelect>
      {hasCluster && (
        <>
          <Checkbox
            id="filter-installed"
            label={labels.installed}
            isChecked={filters.installed === "true"}
            onChange={(_event, is) => setFilters({ installed: is ? "true" : undefined })}
          />
          <Checkbox
            id="filter-installable"
            label={labels.installable}
            isChecked={filters.installable === "true"}
            onChange={(_event, is) => setFilters({ installable: is ? "true" : undefined })}
          />
          <Checkbox
            id="filter-supported"
            label={labels.supported}
            isChecked={filters.supported === "true"}
            onChange={(_event, is) => setFilters({ supported: is ? "true" : undefined })}
          />
          <Checkbox
            id="filter-signed"
            label={labels.signed}
            isChecked={filters.signed === "true"}
            onChange={(_event, is) => setFilters({ signed: is ? "true" : undefined })}
          />
        </>
      )}
      {Object.keys(filters).length > 0 && (
        <Button
          variant="link"
          isInline
          onClick={() => setFilters(Object.fromEntries(Object.keys(filters).map((name) => [name, undefined])))}
        >
          {labels.reset}
        </Button>
      )}
    </div>
  );
}

/** A search field that reports the text after a pause. */
function PausedSearch({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }): ReactElement {
  const [draft, setDraft] = useState(text);
  useEffect(() => setDraft(text), [text]);
  useEffect(() => {
    if (draft === text) return undefined;
    const timer = setTimeout(() => onChange(draft), PAUSE_MS);
    return () => clearTimeout(timer);
  });
  const change = (value: string): void => {
    setDraft(value);
    if (value === "") onChange("");
  };
  return <SearchField label={packagesText.search} value={draft} maxLength={256} isOfPage onChange={change} />;
}

function FilterSelect({
  label,
  any,
  value,
  values,
  onChange,
}: {
  readonly label: string;
  /** The option without a filter. */
  readonly any: string;
  readonly value: string | undefined;
  readonly values: readonly string[];
  readonly onChange: (value: string) => void;
}): ReactElement {
  return (
    <FormSelect className="olm-filter-select" aria-label={label} value={value ?? ""} onChange={(_event, chosen) => onChange(chosen)}>
      <FormSelectOption value="" label={any} />
      {values.map((one) => (
        <FormSelectOption key={one} value={one} label={one} />
      ))}
    </FormSelect>
  );
}
