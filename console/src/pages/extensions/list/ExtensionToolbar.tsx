import { Button } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import type { ExtensionRow } from "../../../../../pkg/consoleapi/live.ts";
import { FilterMenu } from "../../../components/FilterMenu.tsx";
import { Label } from "../../../components/Label.tsx";
import { SearchField } from "../../../components/SearchField.tsx";
import { extensionListText as t } from "../../../text/extensionList.ts";
import { extensionColumns } from "./extensionColumns.tsx";
import { countMark, countValues, type ExtensionFilters, hasFilters, MARKS, type Mark, type ValueFilter } from "./extensionFilters.ts";

const MENUS = ["state", "package", "catalog"] as const;

/** Search, filters and columns of the list of extensions. */
export function ExtensionToolbar({
  rows,
  filters,
  onChange,
  visible,
  onVisible,
}: {
  /** All rows. */
  readonly rows: readonly ExtensionRow[];
  readonly filters: ExtensionFilters;
  readonly onChange: (filters: ExtensionFilters) => void;
  readonly visible: ReadonlySet<string>;
  readonly onVisible: (visible: ReadonlySet<string>) => void;
}): ReactElement {
  return (
    <>
      <div className="olm-filters">
        <Search text={filters.text} onChange={(text) => onChange({ ...filters, text })} />
        {MENUS.map((name) => (
          <FilterMenu
            key={name}
            label={t.filters[name]}
            options={countValues(rows, name, filters[name]).map(({ value, count }) => ({ value, label: value, count }))}
            selected={filters[name]}
            onChange={(values) => onChange({ ...filters, [name]: values })}
          />
        ))}
        <FilterMenu
          label={t.filters.marks}
          options={MARKS.map((mark) => ({ value: mark, label: t.marks[mark], count: countMark(rows, mark) }))}
          selected={filters.marks}
          onChange={(values) => onChange({ ...filters, marks: MARKS.filter((mark) => values.includes(mark)) })}
        />
        <span className="olm-filters-end">
          <FilterMenu
            label={t.columnMenu}
            options={extensionColumns.slice(1).map(({ id, label }) => ({ value: id, label }))}
            selected={[...visible]}
            onChange={(ids) => onVisible(new Set(ids))}
            isCounted={false}
          />
        </span>
      </div>
      {hasFilters(filters) && <ActiveFilters filters={filters} onChange={onChange} />}
    </>
  );
}

/** The search field. It keeps its own text, so that typing does not wait for the table. */
function Search({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }): ReactElement {
  const [value, setValue] = useState(text);
  const [last, setLast] = useState(text);
  if (text !== last) {
    setLast(text);
    setValue(text);
  }
  const change = (next: string): void => {
    setValue(next);
    onChange(next);
  };
  return <SearchField label={t.search} value={value} onChange={change} isOfPage />;
}

function ActiveFilters({
  filters,
  onChange,
}: {
  readonly filters: ExtensionFilters;
  readonly onChange: (filters: ExtensionFilters) => void;
}): ReactElement {
  const names: readonly ValueFilter[] = ["state", "package", "catalog", "namespace"];
  const chips = [
    ...names.flatMap((name) => filters[name].map((value) => ({ filter: t.filters[name], value, rest: remove(filters, name, value) }))),
    ...filters.marks.map((mark) => ({ filter: t.filters.marks, value: t.marks[mark], rest: removeMark(filters, mark) })),
  ];
  return (
    <div className="olm-filters">
      {chips.length > 0 && (
        <ul className="olm-filters-active" aria-label={t.active}>
          {chips.map(({ filter, value, rest }) => (
            <li key={`${filter} ${value}`}>
              <Label removal={{ label: t.remove(filter, value), onRemove: () => onChange(rest) }}>{`${filter}: ${value}`}</Label>
            </li>
          ))}
        </ul>
      )}
      <Button variant="link" isInline onClick={() => onChange({ text: "", state: [], package: [], catalog: [], namespace: [], marks: [] })}>
        {t.clear}
      </Button>
    </div>
  );
}

function remove(filters: ExtensionFilters, name: ValueFilter, value: string): ExtensionFilters {
  return { ...filters, [name]: filters[name].filter((one) => one !== value) };
}

function removeMark(filters: ExtensionFilters, mark: Mark): ExtensionFilters {
  return { ...filters, marks: filters.marks.filter((one) => one !== mark) };
}
