import { render } from 'preact'
import { CopyButton } from '../copy-button.tsx'
import { scrollBox } from './scroll-box.ts'

/** Lines per chunk. The browser lays out the whole last chunk for each new piece of text. */
const chunkLines = 100

export interface CodeBlock {
  /** Appends text. */
  write(text: string): void
  dispose(): void
}

/** An empty code block, with a bar that shows the language and a copy button. */
export function codeBlock(box: HTMLElement, info: string): CodeBlock {
  const code = document.createElement('code')
  const chunks = code.children
  const whole = () => Array.from(chunks, ({ textContent }) => textContent).join('\n')
  render(
    <>
      <div class="md-code-bar">
        <span class="quiet">{info}</span>
        <CopyButton text={whole} label="Copy code" />
      </div>
      <div class="md-code-scroll" {...scrollBox(info === '' ? 'Code' : `Code, ${info}`)}>
        <pre ref={(pre) => pre?.append(code)} />
      </div>
    </>,
    box,
  )

  let lines = 0
  let chunk = startChunk()

  function startChunk(): Text {
    const block = document.createElement('span')
    const text = new Text()
    block.className = 'md-lines'
    block.append(text)
    code.append(block)
    lines = 0
    return text
  }

  return {
    write(text) {
      for (const line of text.split(/(?<=\n)/)) {
        chunk.appendData(line)
        if (!line.endsWith('\n') || ++lines < chunkLines) continue
        // The boundary of two chunks acts as a line break; an empty line there would be lost.
        if (/^\n+$/.test(chunk.data.slice(-2))) continue
        chunk.deleteData(chunk.length - 1, 1)
        chunk = startChunk()
      }
    },
    dispose: () => render(null, box),
  }
}
