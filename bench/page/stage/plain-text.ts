/** Lines in a group that the browser may skip in layout and painting while it is off the screen. */
const groupLines = 40

/**
 * The minimum for showing a text that grows: an element for each line, no Markdown, and nothing is
 * drawn twice. One text node for everything is less code but slower: the browser breaks all its
 * lines again.
 */
export function plainText(box: HTMLElement): (text: string) => void {
  box.style.whiteSpace = 'pre-wrap'
  const style = document.createElement('style')
  style.textContent =
    'section { content-visibility: auto; contain-intrinsic-size: auto none auto 60em } section:last-child { content-visibility: visible }'
  document.head.append(style)
  let group = document.createElement('section')
  let line = document.createTextNode('')

  function begin(text: string) {
    if (!group.isConnected || group.childElementCount >= groupLines) {
      group = document.createElement('section')
      box.append(group)
    }
    const element = document.createElement('div')
    line = document.createTextNode(text)
    element.append(line)
    group.append(element)
  }

  begin('')
  return (text) => {
    const [rest = '', ...lines] = text.split('\n')
    line.appendData(rest)
    for (const next of lines) begin(next)
  }
}
