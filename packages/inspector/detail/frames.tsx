import { useMemo } from 'preact/hooks'
import { Fold } from '../json/fold.tsx'
import { JsonView } from '../json/json-view.tsx'
import { oneLine } from '../json/visible.ts'
import { VirtualList } from '../virtual/virtual-list.tsx'
import { newsOf, sseFrames } from './sse-frames.ts'

/** The frames of a streamed answer, one in a line, each of which can be opened. */
export function Frames({ text }: { readonly text: string }) {
  const frames = useMemo(() => sseFrames(text), [text])
  return (
    <VirtualList
      class="json-raw"
      label="Frames of the answer"
      count={frames.length}
      keyOf={(index) => index}
      estimate={() => 24}
      render={(index) => {
        const { name = '', data = '' } = frames[index] ?? {}
        const news = newsOf(data, frames[index - 1]?.data ?? '')
        return (
          <Fold line={oneLine(`${index + 1} ${name} ${news}`)}>
            {() => <JsonView label={`Frame ${index + 1}`} text={data} open={9} />}
          </Fold>
        )
      }}
    />
  )
}
