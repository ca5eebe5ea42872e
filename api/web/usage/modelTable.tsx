import type { VNode } from 'preact';
import type { UsageSummary } from '../../../shared/domain/credits/usage.ts';
import { formatNumber } from '../components/formatAmount.ts';

/** Generations and credits by model, since the account was created. */
export function ModelTable({ byModel }: Pick<UsageSummary, 'byModel'>): VNode {
  if (byModel.length === 0) return <p>No generations yet.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col" class="number">
            Generations
          </th>
          <th scope="col" class="number">
            Credits
          </th>
        </tr>
      </thead>
      <tbody>
        {byModel.map(({ model, generations, credits }) => (
          <tr key={model}>
            <th scope="row">{model}</th>
            <td class="number">{formatNumber(generations)}</td>
            <td class="number">{formatNumber(credits)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
