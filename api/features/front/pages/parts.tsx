import type { VNode } from 'preact';
import type { ModelWithStatus } from '../../../../shared/domain/generations/execution/modelHealth.ts';
import { getExamplePlan } from '../../../../shared/lib/catalog/catalog.ts';
import type { Plan } from '../../../../shared/spec/plans.ts';
import { describePurchase } from '../../../web/components/describePurchase.ts';
import { formatNumber, formatUsd } from '../../../web/components/formatAmount.ts';
import { Icon } from '../../../web/components/icon.tsx';
import { type NamedFact, Facts } from '../../../web/components/section.tsx';
import { PlanPrice } from '../../../web/components/planPrice.tsx';
import { t as shared } from '../../../web/texts.ts';
import { CARDS as t } from './texts.ts';

/** Cards of the models with what a generation costs, in credits and in money. */
export function ModelCards({ models }: { models: readonly ModelWithStatus[] }): VNode {
  return (
    <ul class="plans">
      {models.map((model) => (
        <li class="card offer">
          <span class={`shot ${model.kind}`}>
            <Icon name={model.kind === 'video' ? 'play' : 'images'} />
          </span>
          <h3>
            {model.name} {model.status === 'online' ? null : <span class="tag warn">{t[model.status]()}</span>}
          </h3>
          <p class="quiet" lang="en">
            {model.description}
          </p>
          <p>
            <strong>{describeCredits(model)}</strong>
            <span class="hint">{describeMoney(model)}</span>
          </p>
          <p class="small">
            <code>{model.slug}</code>
          </p>
        </li>
      ))}
    </ul>
  );
}

/** Rows of a model's parameters with the values that they accept. */
export function ParamList({ model }: { model: ModelWithStatus }): VNode {
  return (
    <Facts
      facts={[
        ...Object.entries(model.definition.params).map(
          ([name, param]): NamedFact => [
            <code>{name}</code>,
            <>
              {param.enum?.join(', ') ?? describeRange(param)}
              {param.default === undefined ? null : (
                <span class="quiet">{t.default({ value: String(param.default) })}</span>
              )}
            </>,
          ],
        ),
        ...Object.entries(model.inputs).map(
          ([name, { max }]): NamedFact => [<code>{name}</code>, max === 1 ? t.anImage() : t.images({ max })],
        ),
      ]}
    />
  );
}

function describeRange({ type, minimum, maximum }: { type?: string; minimum?: number; maximum?: number }): string {
  if (type === 'boolean') return t.trueOrFalse();
  if (type === 'string') return t.text();
  const values = { type: type ?? '', minimum: String(minimum), maximum: String(maximum) };
  if (minimum !== undefined && maximum !== undefined) return t.numberBetween(values);
  if (minimum !== undefined) return t.numberFrom(values);
  return maximum === undefined ? t.number(values) : t.numberTo(values);
}

function describeCredits({ creditsBase: least, creditsMax: most, kind }: ModelWithStatus): string {
  const credits = least === most ? formatNumber(least) : t.range({ least, most });
  return kind === 'image' ? t.imagePrice({ credits }) : t.videoPrice({ credits });
}

/** Price of the cheapest generation at the rate of the recommended plan. */
function describeMoney({ creditsBase }: ModelWithStatus): string {
  const { name, priceMonthlyCents, monthlyCredits } = getExamplePlan();
  const price = formatUsd(Math.round((creditsBase * priceMonthlyCents) / monthlyCredits));
  return t.money({ price, plan: name });
}

/** Cards of the plans with what a month of each buys. */
export function PlanCards({ plans }: { plans: readonly Plan[] }): VNode {
  return (
    <ul class="plans">
      {plans.map((plan) => (
        <li class={plan.highlight ? 'card best' : 'card'}>
          <h3>
            {plan.name} {plan.highlight ? <span class="tag">{shared.recommended()}</span> : null}
          </h3>
          <PlanPrice plan={plan} />
          <ul class="plain">
            <li>{t.everyMonth({ credits: plan.monthlyCredits })}</li>
            <li>{describePurchase(plan.monthlyCredits)}</li>
            <li>{shared.parallel({ count: plan.parallelLimit })}</li>
          </ul>
          <a class={plan.highlight ? 'button main wide' : 'button wide'} href="/account/billing/#plans">
            {t.choose({ plan: plan.name })}
          </a>
        </li>
      ))}
    </ul>
  );
}
