import { render } from 'preact'
import { CopyButton } from '../copy-button.tsx'
import { scrollBox } from './scroll-box.ts'

/** So many lines are laid out together: with each piece the browser does so again, however long they are. */
const linesTogether = 100

export interface CodeBlock {
  /** Adds to its end. */
  write(text: string): void
  dispose(): void
}

/** A code block to be filled, with a bar above it that says what it is and copies it. */
export function codeBlock(box: HTMLElement, info: string): CodeBlock {
  const code = document.createElement('code')
  const stretches = code.children
  const whole = () => Array.from(stretches, ({ textContent }) => textContent).join('\n')
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
  let stretch = beginStretch()

  function beginStretch(): Text {
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
        stretch.appendData(line)
        if (!line.endsWith('\n') || ++lines < linesTogether) continue
        // Where one stretch ends and the next begins is a line end by itself; an empty last line would be lost there.
        if (/^\n+$/.test(stretch.data.slice(-2))) continue
        stretch.deleteData(stretch.length - 1, 1)
        stretch = beginStretch()
      }
    },
    dispose: () => render(null, box),
  }
}
