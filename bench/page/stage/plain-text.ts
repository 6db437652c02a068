/** So many lines are a group that the browser may leave out of layout and painting while it is off the screen. */
const groupLines = 40

/**
 * The least there is to do to show a text that grows: an element for each line, no Markdown, nothing that was drawn is touched again. One text node
 * for all of it would be less to write and more to do: the browser breaks all its lines anew.
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
