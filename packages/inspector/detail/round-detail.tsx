import type { RemoteThread } from 'millrace/client'
import type { Paid, RoundView, ToolResultEvent } from 'millrace/view'
import { paidText } from '../cost.ts'
import { clockTime, duration } from '../format.ts'
import { visible } from '../json/visible.ts'
import { ContextSection } from './cost-section.tsx'
import { ExchangeList } from './exchange-list.tsx'
import { useExchanges } from './exchanges.ts'
import { firstTokenMs, roundMs, usageFacts } from './figures.ts'
import { errorText, Head, Problem } from './head.tsx'
import { Inputs } from './inputs.tsx'
import { callLink, runLink } from './links.tsx'
import { List } from './list.tsx'
import { Tools } from './tools.tsx'

export interface RoundDetailProps {
  readonly thread: RemoteThread
  readonly round: RoundView
  /** The current time, or the end of the run. */
  readonly at: number
}

export function RoundDetail({ thread, round, at }: RoundDetailProps) {
  const exchanges = useExchanges(thread, round)
  const { end, retracted, calls } = round
  const first = firstTokenMs(round)
  return (
    <>
      <Head
        path={runLink(round.run)}
        title={`Round ${round.number}`}
        seq={round.seq}
        facts={[
          ['Model', round.model],
          ['Finish', end?.finish ?? (retracted ? 'retracted' : 'running')],
          ['Started', clockTime(round.startedAt)],
          ['First token', first === undefined ? 'none yet' : `after ${duration(first)}`],
          ['Duration', duration(roundMs(round) ?? at - round.startedAt)],
          ...usageFacts(end?.usage, [round]),
          ['Cost', paidText(end)],
          ['Prices', end?.cost?.prices],
        ]}
      >
        <Problem text={errorText(end?.error)} />
        <Problem
          text={
            retracted &&
            `Retracted at ${clockTime(retracted.at)}: ${retracted.reason}${costed(retracted.failed)}`
          }
        />
      </Head>
      <List title="Retries" items={round.retries}>
        {({ retry: { attempt, model, delayMs, error, failed } }) =>
          `Attempt ${attempt}, ${model}, after ${duration(delayMs)}: ${errorText(error)}${costed(failed)}`
        }
      </List>
      <ContextSection use={end?.context} />
      <Inputs title="New inputs" inputs={round.inputs} />
      <Tools calls={calls} offered={exchanges.exchanges?.at(-1)?.tools} />
      <List
        title="Schema errors"
        items={calls.filter(({ problem, result }) => problem !== undefined || result?.status === 'rejected')}
      >
        {(call) => [callLink(call, call.name), call.problem ?? call.result?.output.map(textOf)]}
      </List>
      <ExchangeList state={exchanges} isRunning={round.endedAt === undefined} />
    </>
  )
}

/** What a failed request cost. */
function costed(failed: Paid | undefined): string {
  const text = paidText(failed)
  return text ? `. The failed request cost: ${text}` : ''
}

/** Why a call was not run, as reported to the model. */
const textOf = (part: ToolResultEvent['output'][number]) => part.type === 'text' && visible(part.text)
