// A question as a command or a program. The token is never in it: it is read from the environment.

const inShell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// JSON with its escapes is also a text of Python, except that it may hold lone surrogates, which a condition does not.
const inQuotes = (text) => JSON.stringify(text);

export const inCurl = (origin, address, where) => `curl -X POST ${inShell(`${origin}${address}/ask`)} \\
  -H "Authorization: Bearer $SPARSEGATE_TOKEN" \\
  -H "Idempotency-Key: $(uuidgen)" \\
  -H 'Content-Type: application/json' \\
  -d ${inShell(JSON.stringify({ where }))}`;

export const inPython = (origin, id, where) => `import os
import sparsegate as sg

with sg.connect(${inQuotes(origin)}, os.environ["SPARSEGATE_TOKEN"]) as service:
    answer = service.gate(${inQuotes(id)}).ask(${inQuotes(where)})
    print("ABOVE" if answer else "BELOW", answer.estimate)`;
