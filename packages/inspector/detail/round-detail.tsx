import type { RemoteThread } from 'millrace/client'
import type { RoundView, ToolResultEvent } from 'millrace/view'
import { clockTime, duration } from '../format.ts'
import { visible } from '../json/visible.ts'
import { ExchangeList } from './exchange-list.tsx'
import { useExchanges } from './exchanges.ts'
import { firstTokenMs, roundMs, usageFacts } from './figures.ts'
import { Fault, failureWords, Head } from './head.tsx'
import { Heard } from './heard.tsx'
import { callLink, runLink } from './links.tsx'
import { List } from './list.tsx'
import { Tools } from './tools.tsx'

export interface RoundDetailProps {
  readonly thread: RemoteThread
  readonly round: RoundView
  /** The time up to which it has gone. */
  readonly at: number
}

export function RoundDetail({ thread, round, at }: RoundDetailProps) {
  const asked = useExchanges(thread, round)
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
          ['Finish', end?.finish ?? (retracted ? 'taken back' : 'Goes on')],
          ['Began', clockTime(round.startedAt)],
          ['First token', first === undefined ? 'none yet' : `after ${duration(first)}`],
          ['Took', duration(roundMs(round) ?? at - round.startedAt)],
          ...usageFacts(end?.usage, [round]),
        ]}
      >
        <Fault text={failureWords(end?.error)} />
        <Fault text={retracted && `Taken back at ${clockTime(retracted.at)}: ${retracted.reason}`} />
      </Head>
      <List title="Sent again" items={round.retries}>
        {({ retry: { attempt, model, delayMs, error } }) =>
          `Attempt ${attempt}, ${model}, after ${duration(delayMs)}: ${failureWords(error)}`
        }
      </List>
      <Heard title="Heard for the first time" said={round.inputs} />
      <Tools calls={calls} offered={asked.exchanges?.at(-1)?.tools} />
      <List
        title="Schema errors"
        items={calls.filter(({ problem, result }) => problem !== undefined || result?.status === 'rejected')}
      >
        {(call) => [callLink(call, call.name), call.problem ?? call.result?.output.map(textOf)]}
      </List>
      <ExchangeList asked={asked} goesOn={round.endedAt === undefined} />
    </>
  )
}

/** Why a call was not run, as the model was told. */
const textOf = (part: ToolResultEvent['output'][number]) => part.type === 'text' && visible(part.text)
