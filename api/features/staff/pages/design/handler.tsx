import type { ComponentChildren, VNode } from 'preact';
import { formatUtcDay } from '../../../../../shared/lib/calendar.ts';
import { addMilliseconds } from '../../../../../shared/lib/clock.ts';
import { DAY_MS } from '../../../../../shared/spec/durations.ts';
import type { Context } from '../../../../context.ts';
import { listTokens, type Token } from '../../../../web/assets.ts';
import { sendStaffConsolePage } from '../../../../web/components/areaPage.tsx';
import { BarChart, HorizontalBarChart, StackedBarChart } from '../../../../web/components/charts.tsx';
import { CopyText } from '../../../../web/components/copyText.tsx';
import { DateField, SelectField, TextArea, TextField } from '../../../../web/components/fields.tsx';
import { FilterForm, MatchCount } from '../../../../web/components/filterForm.tsx';
import { Form } from '../../../../web/components/form.tsx';
import { formatNumber } from '../../../../web/components/formatAmount.ts';
import { Icon, ICON_NAMES } from '../../../../web/components/icon.tsx';
import { PageLinks } from '../../../../web/components/pageLinks.tsx';
import { limitForm } from '../../../../web/components/spendingLimit.tsx';
import { Table } from '../../../../web/components/table.tsx';
import { withRejectedForm } from '../../../../web/rejectedForm.ts';
import { Facts, Section } from '../../../../web/components/section.tsx';

const DESIGN_PATH = '/admin/design/';

/** Shows the design system: its tokens, and each component with a sentence on when to use it. */
export async function showDesign(ctx: Context): Promise<void> {
  const tokens = listTokens();
  const children = (
    <>
      <p class="quiet">
        The parts that pages are made of, from the components that the pages use. Switch the color scheme of the system
        to see the other one.
      </p>
      <nav class="tabs" aria-label="On this page">
        <ul>
          {SECTIONS.map(({ id, title }) => (
            <li>
              <a href={`#${id}`}>{title}</a>
            </li>
          ))}
        </ul>
      </nav>
      {SECTIONS.map(({ id, title, use, Example }) => (
        <Section id={id} title={title}>
          <p class="quiet">{use}</p>
          <Example tokens={tokens} ctx={ctx} />
        </Section>
      ))}
    </>
  );
  const form = new URLSearchParams({ amount: 'many' });
  const rejection = { path: DESIGN_PATH, form, field: 'amount', message: 'The amount must be a whole number.' };
  await withRejectedForm(rejection, () =>
    sendStaffConsolePage(ctx, { current: DESIGN_PATH, heading: 'Design', children }),
  );
}

interface ExampleProps {
  tokens: readonly Token[];
  ctx: Context;
}

interface DesignSection {
  id: string;
  title: string;
  /** When to use it. */
  use: string;
  Example: (props: ExampleProps) => VNode;
}

const isColor = ({ light }: Token) => light.startsWith('#');
const listSizes = (tokens: readonly Token[], names: readonly string[]) =>
  tokens.filter(({ name }) => names.includes(name));

const TEXT_SIZES = ['small', 'normal', 'large', 'title', 'figure'];

const DAYS = Array.from({ length: 14 }, (_, index) =>
  formatUtcDay(addMilliseconds(new Date('2026-11-14T00:00:00Z'), index * DAY_MS)),
);
const VALUES = DAYS.map((_, index) => 20 + ((index * 37) % 60));

const SECTIONS: readonly DesignSection[] = [
  {
    id: 'colors',
    title: 'Colors',
    use: 'Name a color by its purpose. Red, green and yellow have a meaning and are never decoration; the accent is for what can be clicked.',
    Example: ({ tokens }) => (
      <Table
        label="Colors"
        columns={['Token', 'Light', 'Dark']}
        rows={tokens
          .filter(isColor)
          .map((token) => [<code>--{token.name}</code>, <Swatch color={token.light} />, <Swatch color={token.dark} />])}
      />
    ),
  },
  {
    id: 'type',
    title: 'Type',
    use: 'Five sizes of Inter: the figure once or twice on a page, the title for its heading, large for headings of cards.',
    Example: ({ tokens }) => (
      <Table
        label="Sizes of text"
        columns={['Token', 'Size', 'Example']}
        rows={listSizes(tokens, TEXT_SIZES).map(({ name, light }) => [
          <code>--{name}</code>,
          light,
          <svg class="sample" width="100%" height="2.5rem" aria-hidden="true">
            <text x="0" y="1.9rem" font-size={light}>
              1,100 credits
            </text>
          </svg>,
        ])}
      />
    ),
  },
  {
    id: 'spacing',
    title: 'Spacing and radius',
    use: 'Near within a group, space between groups, gap between cards. One radius for cards and notices.',
    Example: ({ tokens }) => (
      <Table
        label="Spacing and radius"
        columns={['Token', 'Size', 'Example']}
        rows={tokens
          .filter((token) => !isColor(token) && !TEXT_SIZES.includes(token.name))
          .map(({ name, light }) => [
            <code>--{name}</code>,
            light,
            <svg class="sample" width="100%" height="1.5rem" aria-hidden="true">
              {name === 'round' ? (
                <rect x="0" y="0" width="4rem" height="1.5rem" rx={light} />
              ) : (
                <rect x="0" y="0" width={light} height="1.5rem" />
              )}
            </svg>,
          ])}
      />
    ),
  },
  {
    id: 'icons',
    title: 'Icons',
    use: 'Beside a text that says the same, never alone.',
    Example: () => (
      <ul class="icons">
        {ICON_NAMES.map((name) => (
          <li>
            <Icon name={name} /> {name}
          </li>
        ))}
      </ul>
    ),
  },
  {
    id: 'buttons',
    title: 'Buttons',
    use: 'One main button on a page or card. Red only where the action takes something away, on its confirmation. Small ones in rows.',
    Example: () => (
      <div class="buttons">
        <button type="button" class="main">
          Main
        </button>
        <button type="button">Secondary</button>
        <button type="button" class="main danger">
          Revoke API key
        </button>
        <button type="button" class="danger">
          Revoke
        </button>
        <button type="button" class="slight">
          In a row
        </button>
        <a class="button" href="#buttons">
          Link as a button
        </a>
      </div>
    ),
  },
  {
    id: 'fields',
    title: 'Fields',
    use: 'A label above, a hint below. A field whose value was not accepted keeps what was typed and says what to do; the notice at the top links to it.',
    Example: () => (
      <>
        <TextField id="design-text" name="text" label="Text" hint="Such as 50." value="many" />
        <DateField id="design-date" name="date" label="Date" value="2026-11-29" />
        <SelectField
          id="design-select"
          name="select"
          label="Choice"
          value="pro"
          options={[
            ['lite', 'Lite'],
            ['pro', 'Pro'],
          ]}
        />
        <TextArea id="design-list" name="list" label="List" hint="One item a line." value={'imgmodel-2'} />
        <limitForm.Fields values={limitForm.write({ limit: null })} />
        <Form action={DESIGN_PATH}>
          <TextField id="design-amount" name="amount" label="Not accepted" hint="The notice at the top links to it." />
        </Form>
        <div class="choices apart">
          <label for="design-check">
            <input id="design-check" type="checkbox" checked /> Check box
          </label>
        </div>
      </>
    ),
  },
  {
    id: 'notices',
    title: 'Notices',
    use: 'Green for the outcome of an action, yellow for what will become a problem, red for an error or a problem, with what to do.',
    Example: () => (
      <>
        {(['good', 'warn', 'bad'] as const).map((kind) => (
          <div class={`notice ${kind}`}>
            <Icon name={kind === 'good' ? 'good' : 'warning'} />
            <p>{NOTICES[kind]}</p>
          </div>
        ))}
      </>
    ),
  },
  {
    id: 'badges',
    title: 'Badges',
    use: 'A state in one or two words, beside the name of what has it.',
    Example: () => (
      <p class="tags">
        <span class="tag">active</span>
        <span class="tag off">test</span>
        <span class="tag warn">suspended</span>
      </p>
    ),
  },
  {
    id: 'cards',
    title: 'Cards and figures',
    use: 'A card holds one subject, with its actions beside the heading. A figure is the number that the card is about.',
    Example: () => (
      <div class="columns">
        <section class="card" aria-labelledby="design-card">
          <div class="heading">
            <h3 id="design-card">Balance</h3>
            <a href="#cards">Action</a>
          </div>
          <div class="figure">{formatNumber(15_740)}</div>
          <div class="quiet small">credits</div>
        </section>
        <section class="card" aria-label="Facts">
          <Facts
            facts={[
              ['Plan', 'Pro'],
              ['Renews', '28 November 2027'],
            ]}
          />
        </section>
      </div>
    ),
  },
  {
    id: 'tables',
    title: 'Tables',
    use: 'Rows that are compared. Numbers are aligned to the right; the first link of a row opens what it is about.',
    Example: () => (
      <Table
        label="Example of a table"
        columns={['Model', 'Status', 'Generations']}
        numeric={['Generations']}
        rows={[
          [<a href="#tables">Image model</a>, <span class="tag">online</span>, formatNumber(1_204)],
          [<a href="#tables">Video model</a>, <span class="tag warn">offline</span>, formatNumber(87)],
        ]}
        total={['Total', '', formatNumber(1_291)]}
      />
    ),
  },
  {
    id: 'filters',
    title: 'Filters and pager',
    use: 'Above a list that can be long. The count says what matches; the pager keeps the filters.',
    Example: ({ ctx }) => (
      <>
        <FilterForm
          path={DESIGN_PATH}
          choices={[{ name: 'status', label: 'Status', options: { succeeded: 'Succeeded', failed: 'Failed' } }]}
          parameters={ctx.query}
        />
        <MatchCount list={EXAMPLE_LIST} />
        <PageLinks list={EXAMPLE_LIST} path={DESIGN_PATH} />
      </>
    ),
  },
  {
    id: 'charts',
    title: 'Charts',
    use: 'Bars over time for amounts, stacked for their parts, horizontal bars to compare names. All have their values as a table.',
    Example: () => (
      <>
        <Chart title="One series">
          <BarChart
            title="Example of bars"
            bars={DAYS.map((label, index) => ({ label, value: VALUES[index] ?? 0 }))}
            format={formatNumber}
            isLastPartial
          />
        </Chart>
        <Chart title="Several series">
          <StackedBarChart
            title="Example of stacked bars"
            labels={DAYS}
            series={['First', 'Second', 'Third', 'Fourth'].map((name, layer) => ({
              name,
              values: VALUES.map((value) => Math.round(value / (layer + 1))),
            }))}
            format={formatNumber}
          />
        </Chart>
        <Chart title="Comparison">
          <HorizontalBarChart
            title="Example of horizontal bars"
            levels={[
              { label: 'Revenue', value: 120 },
              { label: 'Provider cost', value: 45, isBad: true },
              { label: 'emails', value: 10, badge: 'paused' },
            ]}
            format={formatNumber}
          />
        </Chart>
      </>
    ),
  },
  {
    id: 'copy',
    title: 'Copy',
    use: 'A text that is pasted elsewhere, such as a key. The button appears where scripts run.',
    Example: () => <CopyText id="design-copy" text="svc_0123456789abcdef" label="the example" />,
  },
  {
    id: 'empty',
    title: 'Empty states',
    use: 'Say what will appear here and how to start.',
    Example: () => <Table label="Empty list" columns={['Name']} rows={[]} empty="No API keys yet. Create one above." />,
  },
];

const NOTICES = {
  good: 'API key “Staging” created.',
  warn: '3 credits are left. The cheapest generation costs 8.',
  bad: 'The last payment failed. Update the payment method until 5 December.',
};

const EXAMPLE_LIST = { page: 2, totalItems: 64, items: [] };

function Chart({ title, children }: { title: string; children: ComponentChildren }): VNode {
  return (
    <div class="part">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

function Swatch({ color }: { color: string }): VNode {
  return (
    <span class="swatch">
      <svg width="2.5rem" height="1.5rem" aria-hidden="true">
        <rect width="100%" height="100%" rx="6" fill={color} />
      </svg>
      {color}
    </span>
  );
}
