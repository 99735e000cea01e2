(** * The gate with one-sided noise

    rho >= 0 is geometric (the exponential law of the lattice) of scale Delta/eps1, drawn once; nu >= 0
    is geometric of scale Delta/r, drawn afresh for every question. After the answers [h] the question
    is [q h] and its threshold [T h]; kappa is a public whole number:

        ABOVE  iff  q h + nu >= T h + rho + kappa,    and the gate closes after the c-th ABOVE.

    [true] is ABOVE and [false] is BELOW. [exponential_gate_sums_to_one]: it is a whole law.

    [exponential_gate_transcript]: for m BELOW and k ABOVE, Pr[t | D] <= e^L Pr[t | D'] with L =
    [exponential_loss] as the code has it:

        answers move either way (Any):   eps1 + 2 k r,   m = 0: k r
        answers only rise (Up):          eps1 + k r,     m = 0: 0
        answers only fall (Down):        k r

    [exponential_gate_is_private]: with r = eps2 / (s c), which is nu of scale s c Delta / eps2, the gate
    is (eps1 + eps2)-DP for any number of questions; s = 2, and s = 1 where all answers move one way.

    The argument: match rho on D with rho + Delta on D'. The mass of rho falls by e^eps1 and stays where
    rho can be; a BELOW gets likelier, since no answer moved further than rho; an ABOVE pays the ratio of
    two tails. Where all answers fall, or all are ABOVE, rho is matched with itself.

    Of the code: kappa is any whole number here, and [n] the number of questions any number. *)

From Sparsegate Require Import prelude privacy sums geometric gate laplace_gate standard_gate transcripts.
Local Open Scope ring_scope.

Section Comparison.
Context {R : realType}.
Implicit Types (a : R) (q T kappa rho s d : int) (b : bool).

(** ABOVE where q + nu >= T + rho + kappa. *)
Definition one_sided a q T kappa rho : {distr bool / R} :=
  \dlet_(nu <- geometric a) dunit (T + rho + kappa <= q + nu).

Lemma one_sided_sums_to_one a q T kappa rho : 0 < a -> psum (one_sided a q T kappa rho) = 1.
Proof.
move=> a0; apply: dlet_sums_to_one; first exact: geometric_sums_to_one.
by move=> nu; apply: dunit_sums_to_one.
Qed.

Lemma one_sidedE a q T kappa rho b :
  one_sided a q T kappa rho b =
  \P_[geometric a] (fun nu => (T + rho + kappa - q <= nu) == b).
Proof.
rewrite /one_sided dletE; apply: eq_psum => nu /=.
by rewrite dunit1E mulrC ler_subl_addl.
Qed.

(** rho is matched with rho + s and the answer moves by d, so the comparison moves by s - d. An ABOVE
    pays the ratio of two tails; a BELOW gets likelier where d <= s. *)
Lemma one_sided_ratio a q q' T kappa rho s (w : int) b :
  0 < a -> 0 <= w -> s - (q' - q) <= w -> b || (q' - q <= s) ->
  one_sided a q T kappa rho b <=
  expR (if b then a * w%:~R else 0) * one_sided a q' T kappa (rho + s) b.
Proof.
move=> a0 w0 dw; rewrite !one_sidedE.
have -> : T + (rho + s) + kappa - q' = T + rho + kappa - q + (s - (q' - q)).
  by rewrite opprB !addrA (addrAC _ s kappa) (addrAC _ s q) subrK.
move: (T + rho + kappa - q) => x; rewrite -subr_ge0; move: (s - _) dw => d dw.
have tailE y : \P_[geometric a] (fun nu => (y <= nu) == true) = geometric_tail a y.
  by apply: eq_pr => z; rewrite !unfold_in eqb_id.
case: b => [_|/= d0]; rewrite ?tailE.
- apply: le_trans (geometric_tail_ratio x a0 w0) _.
  rewrite ler_wpmul2l ?(ltW (expR_gt0 _)) //; apply: subset_pr => z; rewrite !unfold_in.
  by apply: le_trans; rewrite ler_add2l.
rewrite expR0 mul1r; apply: subset_pr => z; rewrite !unfold_in !eqbF_neg -!ltNge => lt.
by apply: lt_le_trans lt _; rewrite ler_addl.
Qed.

End Comparison.

(** L(m,k): [e1] is what a shift of rho by Delta costs, [r] what one of a comparison does. *)
Definition exponential_loss {R : realType} (u : way) (e1 r : R) (m k : nat) : R :=
  match u with
  | Any => if (m == 0)%N then k%:R * r else e1 + k%:R * (2%:R * r)
  | Up => if (m == 0)%N then 0 else e1 + k%:R * r
  | Down => k%:R * r
  end.

Lemma exponential_loss_le {R : realType} u (e1 r : R) m k :
  0 <= e1 -> 0 <= r -> exponential_loss u e1 r m k <= e1 + k%:R * ((reach u)%:R * r).
Proof.
move=> e0 r0; case: u => /=; rewrite ?mul1r; try case: eqP => _ //.
- apply: ler_paddl => //; rewrite ler_wpmul2l ?ler0n //.
  by rewrite ler_pemull // ler1n.
- by rewrite addr_ge0 // mulr_ge0 ?ler0n.
by apply: ler_paddl.
Qed.

Section Likelihood.
Context {R : realType} {H : choiceType}.
Implicit Types (e a : R) (q T : H -> int) (kappa : int) (l : seq (H * bool)).

Definition below l := count negb [seq y.2 | y <- l].
Definition above l := count id [seq y.2 | y <- l].

Lemma exponential_aligned e a q q' T kappa (s w : int) l :
  0 < e -> 0 < a -> 0 <= s -> 0 <= w -> (forall h, s - w <= q' h - q h) ->
  (forall h, q' h - q h <= s) \/ below l = 0%N ->
  likelihood (geometric e) (fun h => one_sided a (q h) (T h) kappa) l <=
  expR (e * s%:~R + (above l)%:R * (a * w%:~R)) *
  likelihood (geometric e) (fun h => one_sided a (q' h) (T h) kappa) l.
Proof.
move=> e0 a0 s0 w0 lo hi.
have := @likelihood_aligned R H _ (geometric e) (fun h => one_sided a (q h) (T h) kappa)
  (fun h => one_sided a (q' h) (T h) kappa) l s (e * s%:~R)
  (fun y => if y.2 then a * w%:~R else 0).
rewrite (sum_by_kind id) mulr0 addr0; apply.
- by move=> rho; apply: geometric_mass_ratio.
move=> [h b] hb rho; apply: one_sided_ratio => //=.
  by rewrite ler_subl_addr -ler_subl_addl.
case: hi => [->|/eqP]; first by rewrite orbT.
rewrite -leqn0 leqNgt -has_count => /hasPn/(_ b).
by rewrite (map_f snd hb) negbK => ->.
Qed.

Lemma exponential_likelihood u (D : nat) (eps1 r : R) q q' T kappa l :
  (0 < D)%N -> 0 < eps1 -> 0 < r -> (forall h, moves u D (q' h - q h)) ->
  likelihood (geometric (eps1 / D%:R)) (fun h => one_sided (r / D%:R) (q h) (T h) kappa) l <=
  expR (exponential_loss u eps1 r (below l) (above l)) *
  likelihood (geometric (eps1 / D%:R)) (fun h => one_sided (r / D%:R) (q' h) (T h) kappa) l.
Proof.
move=> D0 eps1_gt0 r_gt0 mv; have D_gt0 : 0 < D%:R :> R by rewrite ltr0n.
set e := eps1 / _; set a := r / _.
have e0 : 0 < e by apply: divr_gt0.
have a0 : 0 < a by apply: divr_gt0.
have -> : eps1 = e * D%:R by rewrite divfK // gt_eqF.
have -> : r = a * D%:R by rewrite divfK // gt_eqF.
have lo h : - D%:Z <= q' h - q h by have [] := moves_bound (mv h).
have hi h : q' h - q h <= D%:Z by have [] := moves_bound (mv h).
have r2 : a * D%:Z%:~R + a * D%:Z%:~R = 2%:R * (a * D%:R) by rewrite mulrDl !mul1r.
suff [s [w [s0 w0 lo_s hi_s <-]]] : exists s w : int, [/\ 0 <= s, 0 <= w,
    forall h, s - w <= q' h - q h, (forall h, q' h - q h <= s) \/ below l = 0%N &
    e * s%:~R + (above l)%:R * (a * w%:~R) =
    exponential_loss u (e * D%:R) (a * D%:R) (below l) (above l)].
  exact: exponential_aligned.
case: u mv => mv /=; try (case: eqP => [none|_]).
- by exists 0, D%:Z; split=> //; [move=> h; rewrite sub0r | right | rewrite mulr0 add0r].
- exists D%:Z, (D%:Z + D%:Z); split=> //; last by rewrite intrD mulrDr r2.
    by move=> h; rewrite opprD addrA subrr sub0r.
  by left.
- exists 0, 0; split=> //; [|by right|by rewrite !mulr0 addr0].
  by move=> h; rewrite subr0; case/andP: (mv h).
- exists D%:Z, D%:Z; split=> //; last by left.
  by move=> h; rewrite subrr; case/andP: (mv h).
exists 0, D%:Z; split=> //; [by move=> h; rewrite sub0r | | by rewrite mulr0 add0r].
by left=> h; case/andP: (mv h).
Qed.

End Likelihood.

Section ExponentialGate.
Context {R : realType}.
Variables (c Delta : nat) (eps1 : R) (T : seq bool -> int) (kappa : int) (n : nat).
Implicit Types (q : seq bool -> int) (r : R).

Definition exponential_gate r q : {distr (seq bool) / R} :=
  gate (geometric (eps1 / Delta%:R)) (closed_after id c)
    (fun h => one_sided (r / Delta%:R) (q h) (T h) kappa) n.

Hypotheses (Delta_gt0 : (0 < Delta)%N) (eps1_gt0 : 0 < eps1).

Theorem exponential_gate_sums_to_one r q : 0 < r -> psum (exponential_gate r q) = 1.
Proof.
move=> r0; apply: gate_sums_to_one; first by apply: geometric_sums_to_one; rewrite divr_gt0 ?ltr0n.
by move=> h rho; apply: one_sided_sums_to_one; rewrite divr_gt0 ?ltr0n.
Qed.

Theorem exponential_gate_transcript u r q q' t : 0 < r -> (forall h, moves u Delta (q' h - q h)) ->
  exponential_gate r q t <=
  expR (exponential_loss u eps1 r (count negb t) (count id t)) * exponential_gate r q' t.
Proof.
move=> r0 mv; apply: gate_by_likelihood => _.
have := exponential_likelihood T kappa (contexts [::] t) Delta_gt0 eps1_gt0 r0 mv.
by rewrite /below /above contexts_answers.
Qed.

(** The scales of the code: Delta/eps1 and s c Delta/eps2. *)
Theorem exponential_gate_is_private monotonic (eps2 : R) q q' :
  0 < eps2 -> (0 < c)%N -> neighbours monotonic Delta q q' ->
  let r := eps2 / (sides monotonic * c)%:R in
  within (eps1 + eps2) (exponential_gate r q) (exponential_gate r q').
Proof.
move=> eps2_gt0 c0 near_q r; apply: (private_by_positives eps2_gt0 c0 near_q) => u t mv.
have r0 : 0 < r by rewrite divr_gt0 // ltr0n muln_gt0 c0; case: (monotonic).
apply: le_trans (exponential_gate_transcript t r0 mv) _.
by rewrite ler_wpmul2r // ler_expR; apply: exponential_loss_le; apply: ltW.
Qed.

End ExponentialGate.
