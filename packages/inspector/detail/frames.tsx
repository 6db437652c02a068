import { useMemo } from 'preact/hooks'
import { Disclosure } from '../json/disclosure.tsx'
import { JsonView } from '../json/json-view.tsx'
import { oneLine } from '../json/visible.ts'
import { VirtualList } from '../virtual/virtual-list.tsx'
import { changedPart, sseFrames } from './sse-frames.ts'

/** The frames of a streamed response, one per line, each expandable. */
export function Frames({ text }: { readonly text: string }) {
  const frames = useMemo(() => sseFrames(text), [text])
  return (
    <VirtualList
      class="json-raw"
      label="Response frames"
      count={frames.length}
      keyOf={(index) => index}
      estimate={() => 24}
      render={(index) => {
        const { name = '', data = '' } = frames[index] ?? {}
        const changed = changedPart(data, frames[index - 1]?.data ?? '')
        return (
          <Disclosure line={oneLine(`${index + 1} ${name} ${changed}`)}>
            {() => <JsonView label={`Frame ${index + 1}`} text={data} open={9} />}
          </Disclosure>
        )
      }}
    />
  )
}
